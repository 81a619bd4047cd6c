import { MnemeshError } from '../client/client-error.js';
import { VERSION } from '../version.js';
import { answerTo, nodeClient } from './node-client.js';
import { type Section, SectionBuilder } from './report.js';

/** Checks another node by its health and its capabilities. */
export async function checkRemote(base: URL, key: string | null): Promise<Section> {
  const section = new SectionBuilder(base.host);
  const health = await answerTo(nodeClient(base, null).health());
  if (health instanceof MnemeshError && health.status === null) {
    return section.crit('REMOTE_UNREACHABLE', health.message, 'start it, or correct the address').done();
  }
  section.fact('health', String(health.status));
  if (health instanceof MnemeshError) {
    const message = `${base.host} answers ${health.status} where a node says how it is`;
    section.crit('REMOTE_NO_NODE', message, 'correct the address');
  } else if (health.status !== 'ok') {
    section.crit('REMOTE_UNHEALTHY', 'the node cannot write', 'look at its log');
  }
  const body = await answerTo(nodeClient(base, key).call('memory_capabilities'));
  if (body instanceof MnemeshError) {
    if (body.status !== 401)
      return section.warn('REMOTE_SILENT', `capabilities: ${body.message}`, 'try again').done();
    const fix =
      key === null ? 'add --send-api-key if the nodes share their key' : "correct this node's API key";
    return section
      .warn('REMOTE_NEEDS_KEY', 'the node shows its capabilities only with its API key', fix)
      .done();
  }
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
