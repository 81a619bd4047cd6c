import { z } from 'zod';
import * as limits from '../../protocol/limits.js';
import { KINDS, memoryJson } from '../../protocol/memory.js';
import { applyBudget } from '../../protocol/ranking/budget.js';
import type { RecallRequest } from '../../protocol/ranking/types.js';
import { fail, failed, ok } from '../../protocol/result.js';
import type { Call } from '../pipeline/call.js';
import { defineOperation } from '../pipeline/operation.js';
import * as fields from './fields.js';

const input = z.object({
  context: fields.queryText.describe('What to remember about'),
  namespace: fields.namespace.describe('Search this namespace and its ancestors').optional(),
  limit: z
    .int()
    .default(limits.RECALL_LIMIT)
    .describe(`At most this many rows, up to ${limits.RECALL_LIMIT_MAX}`),
  tags: fields.tagFilter.optional(),
  since: fields.instant.describe('Only memories created at or after this RFC 3339 instant').optional(),
  until: fields.instant.describe('Only memories created at or before this RFC 3339 instant').optional(),
  as_agent: fields.namespace.describe('Namespace position that shared scopes are judged from').optional(),
  budget_tokens: z.int().min(0).describe('At most this many cl100k tokens of content').optional(),
  context_tokens: z
    .array(z.string().max(limits.QUERY_LENGTH_MAX))
    .max(256)
    .describe('Recent conversation that biases the query 70/30')
    .optional(),
  kinds: fields
    .wordList(KINDS.length + 1)
    .describe('Only these kinds; all for every kind')
    .optional(),
  format: fields.format.default('json'),
});

type Input = z.output<typeof input>;

/** Recalls what is relevant to a context (interface §4.3). */
export const memoryRecall = defineOperation({
  name: 'memory_recall',
  family: 'core',
  summary: 'Recall the memories most relevant to a context.',
  core: true,
  input,
  output: z.object({
    memories: z.array(fields.memoryOutput.and(z.looseObject({ score: z.number() }))),
    count: z.int(),
    mode: z.enum(['hybrid', 'keyword']),
    tokens_used: z.int(),
    budget_tokens: z.int().optional(),
    recall_id: z.string(),
    meta: z.looseObject({}),
  }),
  effect: 'read',
  guards: {},
  events: [],
  rows: 'memories',
  http: [
    {
      method: 'GET',
      path: '/recall',
      fields: 'query',
      aliases: { query: 'context', q: 'context' },
      omit: ['context_tokens'],
    },
    {
      method: 'POST',
      path: '/recall',
      fields: 'body',
      aliases: { query: 'context', q: 'context' },
      omit: ['context_tokens'],
    },
  ],
  mcp: { description: 'Recall by meaning and keywords', defaults: { format: 'toon_compact' } },
  cli: {
    command: 'recall',
    positionals: ['context'],
    short: { n: 'namespace' },
    aliases: { kind: 'kinds' },
    view: 'memories',
    omit: ['format'],
    examples: ['recall "when may we deploy?"'],
  },
  run: recall,
});

async function recall(call: Call, fieldsIn: Input) {
  const query = fieldsIn.context.trim();
  if (query === '') return fail('VALIDATION_FAILED', 'context is required', { fields: ['context'] });
  const namespace = fieldsIn.namespace ?? null;
  const viewer = { ...call.caller.viewer, asNamespace: fieldsIn.as_agent ?? null };
  const request: RecallRequest = {
    query,
    namespace,
    limit: recallLimit(fieldsIn.limit),
    tags: fieldsIn.tags ?? [],
    since: fieldsIn.since ?? null,
    until: fieldsIn.until ?? null,
    kinds: fieldsIn.kinds === undefined || fieldsIn.kinds.includes('all') ? null : fieldsIn.kinds,
    viewer,
    now: call.now,
    vectors: null,
  };
  const recallId = call.services.random.uuid();
  const { store, semantic } = call.services;
  const asked = semantic.evidence({ query, contextTokens: fieldsIn.context_tokens ?? [], namespace, viewer });
  // The words are looked up while the query is being embedded elsewhere.
  const prepared = semantic.state().enabled ? recallId : null;
  if (prepared !== null) {
    // Should it fail, the recall meets the same failure and reports it.
    store.query({ kind: 'prepare-recall', key: prepared, request }).catch(() => undefined);
  }
  const evidence = await asked;
  const result = await store.query({
    kind: 'recall-memories',
    request: { ...request, vectors: typeof evidence === 'string' ? null : evidence },
    prepared,
  });
  if (!result.ok) return failed(result.error);
  const { rows, mode, candidates } = result.value;
  const budget = applyBudget(rows, fieldsIn.budget_tokens ?? null, (content) =>
    call.services.tokens.count(content),
  );
  call.services.touches.touch(
    budget.rows.map((row) => row.memory.id),
    call.now,
  );
  return ok({
    memories: budget.rows.map((row) => ({ ...memoryJson(row.memory), score: round3(row.score) }) as never),
    count: budget.rows.length,
    mode,
    tokens_used: budget.tokensUsed,
    ...(fieldsIn.budget_tokens === undefined ? {} : { budget_tokens: fieldsIn.budget_tokens }),
    recall_id: recallId,
    meta: {
      recall_mode: mode === 'hybrid' ? 'hybrid' : 'keyword_only',
      ...(typeof evidence === 'string' ? { semantic: evidence } : {}),
      candidate_counts: candidates,
      ...budget.meta,
    },
  });
}

/** A limit that is not positive falls back to the default, a large one to the cap (reference-http §4.1). */
function recallLimit(limit: number): number {
  return limit < 1 ? limits.RECALL_LIMIT : Math.min(limit, limits.RECALL_LIMIT_MAX);
}

const round3 = (score: number) => Math.round(score * 1000) / 1000;
