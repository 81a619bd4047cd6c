import { z } from 'zod';
import { KINDS } from '../../protocol/memory.js';
import { ok } from '../../protocol/result.js';
import { SCHEMA_VERSION } from '../../protocol/schema-version.js';
import type { Call } from '../pipeline/call.js';
import { defineOperation, FAMILIES } from '../pipeline/operation.js';
import { VERSION } from '../version.js';

/** What this node can do right now (interface §4.14, capabilities envelope v3). */
export const memoryCapabilities = defineOperation({
  name: 'memory_capabilities',
  family: 'meta',
  summary: 'Report what this node can do right now.',
  core: false,
  input: z.object({}),
  output: z.looseObject({
    schema_version: z.literal('3'),
    version: z.string(),
    tier: z.string(),
    summary: z.string(),
    to_describe_to_user: z.string(),
    tools: z.array(
      z.object({ name: z.string(), family: z.string(), loaded: z.boolean(), callable_now: z.boolean() }),
    ),
    recall_mode_active: z.string(),
    reranker_active: z.string(),
    embedder_loaded: z.boolean(),
    permissions: z.object({ mode: z.string() }),
    active_rule_count: z.int(),
    pending_requests: z.int(),
    hnsw_evictions: z.int(),
    dlq_depth: z.int(),
  }),
  effect: 'read',
  guards: {},
  events: [],
  http: [{ method: 'GET', path: '/capabilities', fields: 'query' }],
  mcp: { description: 'What this node can do', always: true },
  run: async (call) => ok(capabilities(call)),
});

/** hybrid while the embedder answers, degraded while it fails, keyword_only when it is switched off. */
function recallMode(call: Call): 'hybrid' | 'degraded' | 'keyword_only' {
  const semantic = call.services.semantic.state();
  if (!semantic.enabled) return 'keyword_only';
  return semantic.failing ? 'degraded' : 'hybrid';
}

function capabilities(call: Call) {
  const { services, profile } = call;
  const semantic = services.semantic.state();
  const mode = recallMode(call);
  const condition = services.condition();
  const tools = services.catalogue.tools.map((tool) => {
    const loaded = profile === 'full' || tool.core || tool.name === 'memory_capabilities';
    return { name: tool.name, family: tool.family, loaded, callable_now: loaded && condition.ready };
  });
  const callable = tools.filter((tool) => tool.callable_now && tool.name !== 'memory_capabilities').length;
  return {
    schema_version: '3' as const,
    version: VERSION,
    tier: semantic.enabled && !semantic.failing ? 'semantic' : 'keyword',
    summary: `${callable} of ${tools.length - 1} memory tools are callable in the ${profile} profile; recall is ${mode}.`,
    to_describe_to_user:
      mode === 'hybrid'
        ? 'I can store memories and recall them by their words and by their meaning.'
        : 'I can store memories and recall them by their words; recall by meaning is not available right now.',
    tools,
    agent_permitted_families: [...FAMILIES],
    recall_mode_active: mode,
    reranker_active: 'off',
    embedder_loaded: semantic.loaded && !semantic.failing,
    permissions: { mode: 'enforce' },
    active_rule_count: 0,
    pending_requests: 0,
    hnsw_evictions: 0,
    dlq_depth: 0,
    models: { embedding: semantic.model, embedding_dim: semantic.dim, llm: 'none', cross_encoder: 'none' },
    ...(semantic.lastError === null ? {} : { embedder_error: semantic.lastError }),
    memory_kinds: [...KINDS],
    storage_backend: 'sqlite',
    db_schema_version: SCHEMA_VERSION,
    degraded: condition.degraded,
    pending_embeddings: condition.pendingEmbeddings,
  };
}
