import { z } from 'zod';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import type { Viewer } from '../../../protocol/base/viewer.js';
import { type MemoryRow, memoryJson } from '../../../protocol/memory/memory.js';
import type { RecallTrace } from '../../../protocol/memory/recall-ledger.js';
import type { RecallRequest, VectorEvidence } from '../../../protocol/memory/recall-request.js';
import { validityMark } from '../../../protocol/memory/validity.js';
import { RECALL_MIN_SCORE } from '../../../protocol/ranking/likelihood.js';
import type { HalfLives } from '../../../protocol/ranking/weights.js';
import type { Answers } from '../../../protocol/release.js';
import type { Settings } from '../../config/settings.js';
import type { ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { applyBudget } from '../../semantics/budget.js';
import { NO_SEMANTICS } from '../../semantics/no-semantics.js';
import type { RerankAbsence } from '../../semantics/reranker/reranker.js';
import type { SemanticAbsence } from '../../semantics/semantic-index.js';
import type { TokenCounter } from '../../semantics/token-counter.js';
import { attestedLinks } from '../graph/attested-links.js';
import { omittedDamaged } from '../shared/filter.js';
import { judgedMemories } from '../shared/shown-memories.js';
import { attachedOutput, attachedStandards, standardsOf } from './attached-standards.js';
import { beforeDecay, withinTier } from './decayed-tier.js';
import { emptyAbove } from './empty-above.js';
import { observeRecall } from './observe-recall.js';
import { Passages, type Shown } from './passage.js';
import { provenanceOf } from './provenance.js';
import { recallHooks } from './recall-hooks.js';
import { type RecallInput, recallInput, recallScope, sessionOf } from './recall-request.js';
import { asksReranker, type Reranked, rerank, rowsToRank } from './rerank.js';
import { sharedTexts, withText } from './shown-texts.js';

/** A memory in the answer of a recall; `content: "none"` leaves its text out. */
export const recalledMemory = fields.memoryOutput.partial({ content: true }).extend({
  score: z.number(),
  passage: z.string().optional(),
  weak: z.literal(true).optional(),
});

/** Recalls memories that are relevant to a context (interface §4.3). */
export const memoryRecall = defineOperation({
  name: 'memory_recall',
  family: 'core',
  summary: 'Recall the memories most relevant to a context.',
  input: recallInput,
  output: z.object({
    memories: z.array(recalledMemory),
    count: z.int(),
    mode: z.enum(['hybrid', 'hybrid+rerank', 'keyword', 'denied_by_hook']),
    tokens_used: z.int(),
    budget_tokens: z.int().optional(),
    truncated: z.literal(true).optional(),
    ...attachedOutput,
    recall_id: z.string(),
    ...fields.namespacesBelow,
    note: z.string().optional(),
    meta: z.looseObject({}),
  }),
  effect: 'read',
  guards: {},
  delegable: 'by-namespace',
  rows: 'memories',
  http: [
    {
      method: 'GET',
      path: '/recall',
      fields: 'query',
      // Each answer has an id of its own.
      tag: 'none',
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
    description:
      'Remember: look up what is known already about a question or topic, such as what we decided, have seen before, learned or like. Do so before you start or answer. Answers the most relevant memories, short ones whole; a longer one is a passage that ends in [+n], and memory_get reads the n characters left out.',
    defaults: { format: 'toon_compact', verbose_provenance: true },
    toonDefaults: { content: 'passage' },
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
    viewDefaults: { content: 'passage' },
    omit: ['accept_provenance'],
    examples: ['recall "when may we deploy?"'],
  },
  hooks: recallHooks,
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
  const { namespace } = recallScope(call, input);
  const [found, pinned] = await Promise.all([
    rank(call, input, { query, viewer, recalled, recallId }),
    standardsOf(call, namespace, viewer),
  ]);
  if (!found.ok) return failed(found.error);
  const standards = await attachedStandards(call, pinned, input.budget_tokens ?? null);
  if (!standards.ok) return failed(standards.error);
  const { attached, tokens: spent } = standards.value;
  const { answer } = found.value;
  const mode = modeOf(found.value);
  const texts = textsOf(answer.rows, query, input, spent);
  const contents = texts.map(({ text: content }) => ({ memory: { content } }));
  const plain = texts.map(({ text }) => text);
  const counted = await tokensWithin(tokens, plain, input.budget_tokens, spent);
  if (!counted.ok) return failed(counted.error);
  const budget = applyBudget(contents, input.budget_tokens ?? null, counted.value, spent);
  const rows = answer.rows.slice(0, budget.rows.length);
  const memories = await judgedMemories(
    call,
    rows.map((row) => row.memory),
  );
  const scores = rows.map((row) => rounded(row.score));
  const decorated = isVerbose(input) ? await provenance(call, memories, viewer) : [];
  const rids = memories.map(({ rid }) => rid);
  if (session !== null) recallSessions.add(session, rids);
  const used = usedIds(rows);
  observeRecall(
    call,
    rows.map(({ memory }) => memory),
  );
  // An answer that the budget leaves empty tells nothing of how recall does.
  const trace = input.budget_tokens === 0 ? null : traceOf(call, query, namespace, found.value);
  record(call, { recallId, retriever: mode, memories, scores, used, trace });
  const cut = answer.truncated && rows.length === answer.rows.length;
  const below = answer.rows.length === 0 ? await emptyAbove(call, recallScope(call, input).namespace) : {};
  return ok({
    memories: memories.map((memory, index) => {
      const shown = withText(memoryJson(memory), texts[index]!, input.content);
      const weak = rows[index]!.cut === 'weak' ? { weak: true } : {};
      const found = isVerbose(input) ? { found_by: rows[index]!.foundBy } : {};
      return {
        ...shown,
        score: scores[index],
        ...weak,
        ...validityMark(memory, call.now),
        ...decorated[index],
        ...found,
      } as never;
    }),
    count: memories.length,
    mode,
    tokens_used: budget.tokensUsed,
    ...(input.budget_tokens === undefined ? {} : { budget_tokens: input.budget_tokens }),
    ...(cut ? { truncated: true as const } : {}),
    ...attached,
    recall_id: recallId,
    ...below,
    ...noteOf(found.value, input),
    meta: { ...metaOf(found.value, input), ...budget.meta },
  });
}

/** The text of each row that the caller wants; `spent` tokens of the budget are used by other texts. */
function textsOf(
  rows: readonly { readonly memory: MemoryRow }[],
  query: string,
  { content: wanted, budget_tokens: budget }: RecallInput,
  spent: number,
): readonly Shown[] {
  if (wanted === 'none') return rows.map(() => ({ text: '', whole: false }));
  const contents = rows.map(({ memory }) => memory.content);
  if (wanted !== 'passage') return contents.map((text) => ({ text, whole: true }));
  const left = budget === undefined ? null : budget - spent;
  return sharedTexts(new Passages(query), contents, { budget: left, ranked: true });
}

/** The tokens of the rows as far as the budget goes; without a budget none are counted. */
function tokensWithin(
  counter: TokenCounter,
  texts: readonly string[],
  budget: number | undefined,
  spent: number,
): Promise<Result<readonly number[]>> {
  if (budget === undefined || budget === 0) return Promise.resolve(ok([]));
  return counter.counts(texts, budget - spent);
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
  const scope = recallScope(call, input);
  const { namespace } = scope;
  const ranked = { ...scope, limit: rowsToRank(call, input, scope.limit) };
  const { limit, filter } = beforeDecay(call, input, ranked);
  const request: RecallRequest = {
    ...filter,
    query,
    namespace,
    limit,
    // Who names a least score gets no row below it.
    ...(input.min_score === undefined ? { cut: 'default' } : { minScore: input.min_score }),
    ...(asksReranker(call, input) ? { below: true } : {}),
    recalled,
    recency: recencyOf(call.services.settings),
    viewer,
    now: call.now,
    vectors: null,
  };
  const semantics = input.feature_tier === 'keyword' ? NO_SEMANTICS : semantic;
  const contextTokens = input.context_tokens ?? [];
  const { deadlineMs } = call;
  const asked = semantics.evidence({
    ...{ query, contextTokens, namespace, viewer, filter },
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
  });
  // The words are looked up while the embedder works on the query.
  const prepared = semantics.state().enabled ? recallId : null;
  if (prepared !== null) {
    // If it fails, the recall meets the same failure and reports it.
    store.query({ kind: 'prepare-recall', key: prepared, request }).catch(() => undefined);
  }
  const evidence = await asked;
  const vectors = typeof evidence === 'string' ? null : evidence;
  const answer = await store.query({ kind: 'recall-memories', request: { ...request, vectors }, prepared });
  if (!answer.ok) return answer;
  const within = await withinTier(call, input, answer.value, ranked.limit);
  return ok({ evidence, ...(await rerank(call, input, within, scope.limit)) });
}

const recencyOf = (settings: Settings): HalfLives | 'none' =>
  settings.legacyScoring
    ? 'none'
    : { short: settings.halfLifeShort, mid: settings.halfLifeMid, long: settings.halfLifeLong };

/** The rows of an answer, and what they were found with. */
interface Found extends Reranked {
  readonly evidence: VectorEvidence | SemanticAbsence;
}

const modeOf = ({ answer: { mode }, reranked }: Found): 'hybrid' | 'hybrid+rerank' | 'keyword' =>
  mode === 'hybrid' && reranked === 'neural' ? 'hybrid+rerank' : mode;

function metaOf({ answer, evidence, reranked }: Found, input: RecallInput) {
  const { mode, candidates, confidenceFilteredOut, belowMinScore, blendWeight } = answer;
  return {
    recall_mode: mode === 'hybrid' ? 'hybrid' : 'keyword_only',
    reranker_used: reranked === 'neural' ? 'neural' : 'none',
    ...(reranked === 'neural' || reranked === 'none' ? {} : { rerank: reranked }),
    ...(typeof evidence === 'string' ? { semantic: evidence } : {}),
    candidate_counts: { fts: candidates.fts, hnsw: candidates.vector },
    below_min_score: belowMinScore,
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

/** One line for a recall that was meant to be reranked, and was not. */
const NOT_RERANKED: Readonly<Record<RerankAbsence, string>> = {
  busy: 'not reranked, because the reranker is busy',
  late: 'not reranked, because the reranker did not answer in time',
  failing: 'not reranked, because the reranker fails; "mnemesh doctor" says why',
};

/** Why the answer has no row or weak ones, why it was searched by words only, and why it was not reranked. */
function noteOf(
  { evidence, answer: { rows, belowMinScore }, reranked }: Found,
  input: RecallInput,
): { readonly note?: string } {
  const notes: string[] = [];
  const wordsOnly = typeof evidence === 'string' ? WORDS_ONLY[evidence] : undefined;
  if (wordsOnly !== undefined) notes.push(wordsOnly);
  if (reranked !== 'neural' && reranked !== 'none') notes.push(NOT_RERANKED[reranked]);
  const [first] = rows;
  if (first === undefined) {
    const below = `; ${belowMinScore} scored below ${minScoreOf(input)}, and min_score 0 returns them`;
    notes.push(`no memory answers this${belowMinScore === 0 ? '' : below}`);
  } else if (first.cut === 'weak') {
    notes.push('no memory surely answers this; the rows are weak, the nearest that there are');
  }
  return notes.length === 0 ? {} : { note: notes.join('; ') };
}

const minScoreOf = (input: RecallInput): number => input.min_score ?? RECALL_MIN_SCORE;

/**
 * The first row counts as used when it passes the cut, also where the caller asked for all. The others are only shown:
 * that neither extends nor promotes them.
 */
const usedIds = ([first]: Answers['recall-memories']['rows']): string[] =>
  first !== undefined && first.score >= RECALL_MIN_SCORE ? [first.memory.id] : [];

/** What a recall answered, for the ledger, and the ids of the rows that it used. */
interface Recalled {
  readonly recallId: string;
  readonly retriever: string;
  readonly memories: readonly MemoryRow[];
  readonly scores: readonly number[];
  readonly used: readonly string[];
  readonly trace: RecallTrace | null;
}

/** The use is counted, and the answer recorded for the ledger, in the background. */
function record(call: ReadCall, { recallId, retriever, memories, scores, used, trace }: Recalled): void {
  const { touches } = call.services;
  if (used.length > 0) touches.touch(used, call.now);
  const { agentId } = call.caller;
  const memoryIds = memories.map(({ id }) => id);
  const observation = { recallId, agentId, retriever, observedAt: call.now, memoryIds, scores };
  touches.observe(trace === null ? observation : { ...observation, trace });
}

/** What the ledger may keep besides the rows. */
function traceOf(
  { services, nowMs }: ReadCall,
  query: string,
  namespace: string | null,
  { evidence, answer: { rows, belowMinScore } }: Found,
): RecallTrace {
  return {
    ...{ query, namespace, below: belowMinScore },
    wordsOnly: typeof evidence === 'string' ? evidence : null,
    weak: rows[0]?.cut === 'weak',
    tookMs: Math.max(0, Math.round(services.clock.nowMs() - nowMs)),
  };
}

/** HTTP callers request it by the field or by the header `Accept-Provenance: verbose`. */
function isVerbose(input: RecallInput): boolean {
  return input.verbose_provenance ?? input.accept_provenance?.trim().toLowerCase() === 'verbose';
}

/** The provenance of each row; only the ranking decides which rows there are, and their order. */
async function provenance(call: ReadCall, memories: readonly MemoryRow[], viewer: Viewer) {
  const ids = memories.map(({ id }) => id);
  const found = await call.services.store.query({ kind: 'newest-links', ids, viewer, now: call.now });
  const newest = found.ok ? found.value.newest : [];
  const attested = await attestedLinks(
    call,
    newest.map(([, link]) => link),
  );
  const levels = new Map(newest.map(([id], at) => [id, attested[at]!.level]));
  return memories.map((memory) => provenanceOf(memory, levels.get(memory.id) ?? null, call.now));
}

const rounded = (value: number) => Math.round(value * 1000) / 1000;
