import { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { instantFromMs } from '../../protocol/base/time.js';
import { inspectServer } from '../../storage/open/inspect-server.js';
import { inspectDatabase } from '../../storage/sqlite/inspect/inspect-database.js';
import { openSqlite } from '../../storage/sqlite/open-sqlite.js';
import type { Configuration } from '../config/load-settings.js';
import type { Settings } from '../config/settings.js';
import type { Profile } from '../config/tool-profile.js';
import { stderrLog } from '../log.js';
import { type MeshStatusAnswer, STATUS_PATH } from '../mesh/mesh-answers.js';
import { CATALOGUE } from '../operations/catalogue.js';
import { OPERATIONS } from '../operations/registry.js';
import { systemClock, systemCrypto, systemRandom, systemScheduler } from '../seams.js';
import { loadTokenCounting } from '../semantics/count-tokens.js';
import { placeOf } from '../threads/open-database.js';
import { checkConfiguration } from './check-configuration.js';
import { checkAudit, checkIndex, checkRecall } from './check-content.js';
import { checkGovernance } from './check-governance.js';
import { checkHooks } from './check-hooks.js';
import { checkIdentity } from './check-identity.js';
import { withIntegrity } from './check-integrity.js';
import { checkJobs } from './check-jobs.js';
import { checkKeys } from './check-keys.js';
import { checkLimits } from './check-limits.js';
import { checkMesh, skewsOf } from './check-mesh.js';
import { checkEmbeddings, checkLlm, checkReranker } from './check-models.js';
import { checkCapabilities } from './check-node.js';
import { checkRemote } from './check-remote.js';
import { checkServer } from './check-server.js';
import { checkStorage } from './check-storage.js';
import { checkTools, type ToolTokens, toolTokens } from './check-tools.js';
import { checkWebhooks } from './check-webhooks.js';
import type { DatabaseFacts } from './database-facts.js';
import { type Examination, type Section, SectionBuilder, worst } from './report.js';
import { runningHooks } from './running-hooks.js';

/** Sections that are examined only on request. */
export interface MoreSections {
  /** What the tool list of this profile costs. */
  readonly tokens?: Profile | undefined;
  /** The hooks that are configured. */
  readonly hooks?: boolean | undefined;
}

/** Examines this node's files, settings and surroundings. Changes nothing; a running node is not disturbed. */
export async function examineNode(
  configuration: Configuration,
  more: MoreSections = {},
): Promise<Examination> {
  const { settings } = configuration;
  const nowMs = systemClock.nowMs();
  const place = placeOf(settings);
  const hasFile = place.engine === 'sqlite' && settings.dbPath !== ':memory:' && existsSync(settings.dbPath);
  const keys = checkKeys(settings.keyDir);
  // Without it, nothing can be said about a database.
  openSqlite(':memory:').close();
  const inspection = hasFile
    ? inspectDatabase(settings.dbPath, instantFromMs(nowMs), systemCrypto, keys.publicKey)
    : null;
  const asked = {
    ...{ now: instantFromMs(nowMs), crypto: systemCrypto, ownKey: keys.publicKey },
    monotonicMs: () => systemClock.monotonicMs(),
  };
  const server = place.engine === 'postgres' ? inspectServer(place, asked) : null;
  const facts =
    (server ?? inspection)?.ok === true
      ? ((server ?? inspection) as { readonly facts: DatabaseFacts }).facts
      : null;
  const content = facts?.content ?? null;
  const owner = content?.owner ?? null;
  const daemonLives = owner !== null && owner.role === 'daemon' && owner.expiresAtMs > nowMs;
  const running = more.hooks === true && daemonLives ? await runningHooks(settings) : null;
  const [embeddings, llm, reranker, capabilities, mesh] = await Promise.all([
    checkEmbeddings(settings, systemScheduler),
    checkLlm(settings, content, nowMs, systemScheduler),
    checkReranker(settings, systemScheduler),
    checkCapabilities(settings, daemonLives, CATALOGUE.tools.length, systemScheduler),
    examineMesh(settings, keys.peerId, daemonLives, nowMs),
  ]);
  return report('local', settings.home, nowMs, [
    server === null ? checkStorage(settings, inspection) : checkServer(settings, server),
    checkIndex(content, settings),
    checkRecall(content, settings, nowMs, mesh.skewsMs),
    checkConfiguration(configuration),
    keys.section,
    checkIdentity(settings),
    checkLimits(settings),
    checkGovernance(content, settings, systemCrypto),
    checkWebhooks(content, settings, nowMs, daemonLives),
    checkJobs(content, nowMs),
    embeddings,
    llm,
    reranker,
    capabilities,
    checkAudit(facts, keys.peerId),
    withIntegrity(mesh.section, content, settings, nowMs),
    ...(more.tokens === undefined ? [] : [checkTools(countToolTokens(more.tokens))]),
    ...(more.hooks === true ? [checkHooks(settings.hooksPath, configuration.searchPath, running)] : []),
  ]);
}

/** The state of the mesh; only the running daemon of this database is asked. */
async function examineMesh(
  settings: Settings,
  peerId: string | null,
  daemonLives: boolean,
  nowMs: number,
): Promise<{ readonly section: Section; readonly skewsMs: readonly number[] }> {
  // The HTTP client between nodes is expensive to load.
  const { askDaemon } = await import('../mesh/ask-daemon.js');
  const { MeshState } = await import('../mesh/forming/mesh-state.js');
  const seams = {
    clock: systemClock,
    scheduler: systemScheduler,
    random: systemRandom,
    crypto: systemCrypto,
  };
  const state = new MeshState(settings.home, { ...seams, log: stderrLog('silent') });
  state.reload();
  const { formed } = state;
  const status =
    daemonLives && peerId !== null
      ? await askDaemon({ settings, peerId, formed, scheduler: systemScheduler }, STATUS_PATH, 'compare=true')
      : null;
  const found = status as MeshStatusAnswer | null;
  const isWired = settings.quorumPeers.length > 0 || (found?.wired.length ?? 0) > 0;
  if (formed === null && !isWired && (found?.peers.length ?? 0) === 0) {
    return { section: new SectionBuilder('Mesh').unused('not configured').done(), skewsMs: [] };
  }
  const section = checkMesh({
    status: found,
    meshId: formed?.facts.mesh_id ?? null,
    certificateEndsMs: formed === null ? null : Date.parse(new X509Certificate(formed.pair.cert).validTo),
    nowMs,
  });
  return { section, skewsMs: found === null ? [] : [...skewsOf(found).values()] };
}

/** What each tool of a profile costs an agent's context. */
export function countToolTokens(profile: Profile): ToolTokens {
  return toolTokens(OPERATIONS, profile, loadTokenCounting());
}

/** Asks other nodes for their state, all at once. The key is sent only when the operator requests it. */
export async function examineRemotes(nodes: readonly URL[], key: string | null): Promise<Examination> {
  const sections = await Promise.all(nodes.map((node) => checkRemote(node, key)));
  const source = nodes.map((node) => node.host).join(', ');
  return report('remote', source, systemClock.nowMs(), sections);
}

function report(
  mode: Examination['mode'],
  source: string,
  nowMs: number,
  sections: readonly Section[],
): Examination {
  return {
    mode,
    source,
    generated_at: instantFromMs(nowMs),
    sections,
    overall: worst(sections.map((section) => section.severity)),
  };
}
