import { z } from 'zod';
import { type MemoryRow, memoryJson } from '../../protocol/memory/memory.js';
import { provenanceOf } from '../../protocol/memory/provenance.js';
import type { Answers } from '../../protocol/queries.js';
import { applyBudget } from '../../protocol/ranking/budget.js';
import type { RecallRequest, VectorEvidence, Viewer } from '../../protocol/ranking/types.js';
import { fail, failed, ok, type Result } from '../../protocol/result.js';
import type { ReadCall } from '../pipeline/call.js';
import * as fields from '../pipeline/fields.js';
import { defineOperation } from '../pipeline/operation.js';
import { NO_SEMANTICS } from '../semantics/no-semantics.js';
import type { SemanticAbsence } from '../semantics/semantic-index.js';
import type { TokenCounter } from '../semantics/token-counter.js';
import { omittedDamaged } from './filter.js';
import { type RecallInput, recallInput, recallScope, sessionOf } from './recall-request.js';
import { judgedMemories } from './shown-memories.js';

/** Recalls memories that are relevant to a context (interface §4.3). */
export const memoryRecall = defineOperation({
  name: 'memory_recall',
  family: 'core',
  summary: 'Recall the memories most relevant to a context.',
  core: true,
  input: recallInput,
  output: z.object({
    memories: z.array(fields.memoryOutput.and(z.looseObject({ score: z.number() }))),
    count: z.int(),
    mode: z.enum(['hybrid', 'keyword']),
    tokens_used: z.int(),
    budget_tokens: z.int().optional(),
    truncated: z.literal(true).optional(),
    recall_id: z.string(),
    note: z.string().optional(),
    meta: z.looseObject({}),
  }),
  effect: 'read',
  guards: {},
  rows: 'memories',
  http: [
    {
      method: 'GET',
      path: '/recall',
      fields: 'query',
      aliases: { query: 'context', q: 'context' },
      headers: { 'accept-provenance': 'accept_provenance' },
      omit: ['context_tokens', 'accept_provenance', 'feature_tier'],
    },
    {
      method: 'POST',
      path: '/recall',
      fields: 'body',
      aliases: { query: 'context', q: 'context' },
      headers: { 'accept-provenance': 'accept_provenance' },
      omit: ['context_tokens', 'accept_provenance', 'feature_tier'],
    },
  ],
  mcp: {
    description: 'Recall by meaning and keywords',
    defaults: { format: 'toon_compact', verbose_provenance: true },
    omit: ['accept_provenance', 'feature_tier'],
  },
  cli: {
    command: 'recall',
    positionals: ['context'],
    short: { n: 'namespace', T: 'feature_tier' },
    aliases: { kind: 'kinds', tier: 'feature_tier' },
    shown: { feature_tier: 'tier' },
    values: { confidence_tier: { high: 'confirmed', medium: 'likely', low: 'ambiguous' } },
    view: 'memories',
    omit: ['accept_provenance'],
    examples: ['recall "when may we deploy?"'],
  },
  run: recall,
});

async function recall(call: ReadCall, input: RecallInput) {
  const query = input.context.trim();
  if (query === '') return fail('VALIDATION_FAILED', 'context is required', { fields: ['context'] });
  const { recallSessions, random, tokens } = call.services;
  const session = sessionOf(call, input);
  const viewer = { ...call.caller.viewer, asNamespace: input.as_agent ?? null };
  const recallId = random.uuid();
  const recalled = session === null ? [] : recallSessions.seen(session);
  const found = await rank(call, input, { query, viewer, recalled, recallId });
  if (!found.ok) return failed(found.error);
  const { evidence, answer } = found.value;
  const counted = await tokensWithin(tokens, answer.rows, input.budget_tokens);
  if (!counted.ok) return failed(counted.error);
  const budget = applyBudget(answer.rows, input.budget_tokens ?? null, counted.value);
  const memories = await judgedMemories(
    call,
    budget.rows.map((row) => row.memory),
  );
  const scores = budget.rows.map((row) => rounded(row.score));
  const decorated = isVerbose(input) ? await provenance(call, memories, viewer) : [];
  if (session !== null) {
    recallSessions.add(
      session,
      memories.map(({ rid }) => rid),
    );
  }
  record(call, recallId, answer.mode, memories, scores);
  const cut = answer.truncated && budget.rows.length === answer.rows.length;
  return ok({
    memories: memories.map(
      (memory, index) => ({ ...memoryJson(memory), score: scores[index], ...decorated[index] }) as never,
    ),
    count: memories.length,
    mode: answer.mode,
    tokens_used: budget.tokensUsed,
    ...(input.budget_tokens === undefined ? {} : { budget_tokens: input.budget_tokens }),
    ...(cut ? { truncated: true as const } : {}),
    recall_id: recallId,
    ...wordsOnly(evidence),
    meta: { ...metaOf(answer, evidence, input), ...budget.meta },
  });
}

/** The tokens of the rows as far as the budget goes; without a budget none are counted. */
function tokensWithin(
  counter: TokenCounter,
  rows: readonly { readonly memory: { readonly content: string } }[],
  budget: number | undefined,
): Promise<Result<readonly number[]>> {
  if (budget === undefined || budget === 0) return Promise.resolve(ok([]));
  return counter.counts(
    rows.map(({ memory }) => memory.content),
    budget,
  );
}

/** The query, the viewer, and the rows that the session has had already. */
interface Asked {
  readonly query: string;
  readonly viewer: Viewer;
  readonly recalled: readonly number[];
  readonly recallId: string;
}

/** Ranks the memories by words and by meaning; says so where meaning is not available. */
async function rank(call: ReadCall, input: RecallInput, { query, viewer, recalled, recallId }: Asked) {
  const { store, semantic } = call.services;
  const { namespace, limit, filter } = recallScope(call, input);
  const request: RecallRequest = {
    ...filter,
    query,
    namespace,
    limit,
    recalled,
    viewer,
    now: call.now,
    vectors: null,
  };
  const semantics = input.feature_tier === 'keyword' ? NO_SEMANTICS : semantic;
  const contextTokens = input.context_tokens ?? [];
  const asked = semantics.evidence({ query, contextTokens, namespace, viewer, filter });
  // The words are looked up while the embedder works on the query.
  const prepared = semantics.state().enabled ? recallId : null;
  if (prepared !== null) {
    // If it fails, the recall meets the same failure and reports it.
    store.query({ kind: 'prepare-recall', key: prepared, request }).catch(() => undefined);
  }
  const evidence = await asked;
  const vectors = typeof evidence === 'string' ? null : evidence;
  const answer = await store.query({ kind: 'recall-memories', request: { ...request, vectors }, prepared });
  return answer.ok ? ok({ evidence, answer: answer.value }) : answer;
}

function metaOf(answer: Answers['recall-memories'], evidence: object | string, input: RecallInput) {
  const { mode, candidates, confidenceFilteredOut, blendWeight } = answer;
  return {
    recall_mode: mode === 'hybrid' ? 'hybrid' : 'keyword_only',
    reranker_used: 'none',
    ...(typeof evidence === 'string' ? { semantic: evidence } : {}),
    candidate_counts: { fts: candidates.fts, hnsw: candidates.vector },
    ...(blendWeight === null ? {} : { blend_weight: rounded(blendWeight) }),
    ...(input.confidence_tier === undefined
      ? {}
      : {
          confidence_filtered_out: confidenceFilteredOut,
          had_filtered_candidates: confidenceFilteredOut > 0,
        }),
    ...omittedDamaged(answer),
  };
}

/** One line for a recall that was meant to search by meaning too, and could not. */
const WORDS_ONLY: Readonly<Partial<Record<SemanticAbsence, string>>> = {
  busy: 'searched by words only, because the embedder is loading or busy; ask again in a moment',
  failing: 'searched by words only, because the embedder fails; "mnemesh doctor" says why',
  unreachable:
    'searched by words only, because no process embeds; start "mnemesh serve", or let SVC_HOME and SVC_EMBED_BACKEND be those of the process that does',
};

function wordsOnly(evidence: VectorEvidence | SemanticAbsence): { readonly note?: string } {
  const note = typeof evidence === 'string' ? WORDS_ONLY[evidence] : undefined;
  return note === undefined ? {} : { note };
}

/** The reading is counted, and recorded for the ledger, in the background. */
function record(
  call: ReadCall,
  recallId: string,
  retriever: string,
  memories: readonly MemoryRow[],
  scores: readonly number[],
): void {
  const { touches, settings } = call.services;
  const memoryIds = memories.map(({ id }) => id);
  touches.touch(memoryIds, call.now);
  if (settings.observationsTtlDays === 0) return;
  const { agentId } = call.caller;
  touches.observe({ recallId, agentId, retriever, observedAt: call.now, memoryIds, scores });
}

/** HTTP callers request it by the field or by the header `Accept-Provenance: verbose`. */
function isVerbose(input: RecallInput): boolean {
  return input.verbose_provenance ?? input.accept_provenance?.trim().toLowerCase() === 'verbose';
}

/** The provenance of each row; only the ranking decides which rows there are, and their order. */
async function provenance(call: ReadCall, memories: readonly MemoryRow[], viewer: Viewer) {
  const ids = memories.map(({ id }) => id);
  const links = await call.services.store.query({ kind: 'link-attestations', ids, viewer, now: call.now });
  const levels = new Map(links.ok ? links.value.levels : []);
  return memories.map((memory) => provenanceOf(memory, levels.get(memory.id) ?? null, call.now));
}

const rounded = (value: number) => Math.round(value * 1000) / 1000;
