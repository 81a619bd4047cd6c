import { SCHEMA_VERSION } from '../../../../protocol/base/schema-version.js';
import { profileName } from '../../../config/tool-profile.js';
import type { ReadCall } from '../../../pipeline/call.js';
import { embeddingAdvice } from '../../../semantics/embedding-advice.js';
import { VERSION } from '../../../version.js';
import { ALWAYS_ON, type Facts, factsOf } from './facts.js';
import {
  featureFlags,
  features,
  federation,
  models,
  rerankerActive,
  sections,
  substrate,
} from './features.js';
import { runtimeCounters } from './runtime-counters.js';

export type ReportVersion = '1' | '2' | '3';

/** What a client accepts: `v1` or `1`, `v2` or `2`, trimmed and in any case; anything else is v3 (interface §9). */
export function reportVersion(accept: unknown): ReportVersion {
  const text = String(accept ?? '')
    .trim()
    .toLowerCase();
  if (text === 'v1' || text === '1') return '1';
  return text === 'v2' || text === '2' ? '2' : '3';
}

/** The capabilities report in the requested shape (interface §4.14, reference-http §6). */
export async function report(call: ReadCall, version: ReportVersion): Promise<Record<string, unknown>> {
  const facts = factsOf(call);
  const common = { schema_version: version, tier: facts.tier, version: VERSION };
  // The reference's MCP answer leaves them out of the oldest shape.
  const storage = {
    storage_backend: call.services.settings.storeUrl === null ? 'sqlite' : 'postgres',
    db_schema_version: await schemaVersion(call),
  };
  if (version === '1') {
    const body = { ...common, features: featureFlags(facts), models: models(facts) };
    return call.surface === 'http' ? { ...body, ...storage } : body;
  }
  const counters = await runtimeCounters(call);
  const { registered_hooks: _hooks, rule_summary: _summary, ...runtime } = counters;
  const second = {
    ...common,
    features: features(facts),
    models: models(facts),
    ...sections(facts, counters, call.services.settings),
    ...storage,
    graph_engine: await graphEngine(call),
    degraded: facts.condition.degraded,
    pending_embeddings: facts.condition.pendingEmbeddings,
    ...(facts.semantic.lastError === null ? {} : { embedder_error: facts.semantic.lastError }),
    ...(facts.reranker.lastError === null ? {} : { reranker_error: facts.reranker.lastError }),
    ...(await embedding(call, facts)),
  };
  if (version === '2') return second;
  return {
    ...second,
    ...words(facts),
    tools: facts.tools,
    agent_permitted_families: [...facts.permitted],
    your_harness_supports_deferred_registration: false,
    writes_through: facts.condition.writer,
    recall_mode_active: facts.mode,
    reranker_active: rerankerActive(facts),
    embedder_loaded: facts.embedderLoaded,
    ...runtime,
    federation: federation(facts),
    ...substrate(facts, call.services.settings),
  };
}

/** That of the file; a store that does not answer has at least the version of this release. */
async function schemaVersion({ services }: ReadCall): Promise<number> {
  const found = await services.store.query({ kind: 'schema-version' });
  return found.ok ? found.value.version : SCHEMA_VERSION;
}

/** Walks are recursive reads of the links in either engine; with AGE, Cypher reads them as well. */
async function graphEngine({ services }: ReadCall): Promise<string> {
  const found = await services.store.query({ kind: 'engines' });
  return found.ok ? found.value.graph : 'cte';
}

/** Which encoder runs, how far it is, what it left out, and what would help; absent in keyword mode. */
async function embedding({ services }: ReadCall, { semantic }: Facts) {
  if (!semantic.enabled) return {};
  const found = await services.store.query({ kind: 'embedding-progress' });
  if (!found.ok) return {};
  const { pending, embedded, skipped, failed, cut, searched, coming } = found.value;
  return {
    embedding: {
      encoder: searched?.model ?? null,
      dim: searched?.dim ?? null,
      embedded,
      pending,
      skipped,
      failed,
      truncated: cut,
      coming,
      advice: embeddingAdvice(found.value),
    },
  };
}

/** One sentence each for people and for agents. */
function words({ tools, mode, profile }: Facts) {
  const memory = tools.filter(({ name }) => name !== ALWAYS_ON);
  const callable = memory.filter((tool) => tool.callable_now).length;
  return {
    summary: `${callable} of ${memory.length} memory tools are callable in the ${profileName(profile)} profile; recall is ${mode}.`,
    to_describe_to_user:
      mode === 'hybrid'
        ? 'I can store memories and recall them by their words and by their meaning.'
        : 'I can store memories and recall them by their words; recall by meaning is not available right now.',
  };
}
