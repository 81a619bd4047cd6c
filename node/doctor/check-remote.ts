import type { Scheduler } from '../../protocol/base/seams.js';
import { VERSION } from '../version.js';
import { httpGet } from './http-get.js';
import { type Section, SectionBuilder } from './report.js';

/** Checks another node by its health and its capabilities. */
export async function checkRemote(base: URL, key: string | null, scheduler: Scheduler): Promise<Section> {
  const section = new SectionBuilder(base.host);
  const at = (path: string) => new URL(`${base.pathname.replace(/\/+$/, '')}/api/v1${path}`, base);
  const health = await httpGet(at('/health'), {}, scheduler);
  if (!health.ok) {
    return section
      .crit(
        'REMOTE_UNREACHABLE',
        `${base.host} does not answer: ${health.reason}`,
        'start it, or correct the address',
      )
      .done();
  }
  section.fact('health', health.status);
  if (health.status === 503) section.crit('REMOTE_UNHEALTHY', 'the node cannot write', 'look at its log');
  else if (health.status !== 200) {
    section.crit('REMOTE_NO_NODE', `${at('/health').href} answers ${health.status}`, 'correct the address');
  }
  const headers: Record<string, string> = key === null ? {} : { 'x-api-key': key };
  const answer = await httpGet(at('/capabilities'), headers, scheduler);
  if (!answer.ok) return section.warn('REMOTE_SILENT', `capabilities: ${answer.reason}`, 'try again').done();
  if (answer.status === 401) {
    const fix =
      key === null ? 'add --send-api-key if the nodes share their key' : "correct this node's API key";
    return section
      .warn('REMOTE_NEEDS_KEY', 'the node shows its capabilities only with its API key', fix)
      .done();
  }
  if (answer.status !== 200 || typeof answer.body !== 'object' || answer.body === null) {
    return section.warn('REMOTE_SILENT', `capabilities answer ${answer.status}`, 'look at its log').done();
  }
  const body = answer.body as Record<string, unknown>;
  for (const name of ['version', 'db_schema_version', 'recall_mode_active', 'pending_embeddings']) {
    section.fact(name, String(body[name] ?? '-'));
  }
  if (body['version'] !== VERSION) {
    section.info(
      'REMOTE_VERSION',
      `the node runs ${String(body['version'])}, this is ${VERSION}`,
      'upgrade the older node',
    );
  }
  if (body['recall_mode_active'] === 'degraded') {
    section.warn('REMOTE_DEGRADED', 'the embedder of the node fails', 'look at its log');
  }
  for (const part of Array.isArray(body['degraded']) ? body['degraded'] : []) {
    section.warn('REMOTE_PART_DEGRADED', JSON.stringify(part), 'look at its log');
  }
  return section.done();
}
