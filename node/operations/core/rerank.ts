import type { Instant } from '../../../protocol/base/meanings.js';
import { RERANK_ROWS_MAX, RERANK_TEXT_TOKENS, RERANK_WEIGHT } from '../../../protocol/base/model-limits.js';
import { LAPSED_SHARE, validityAt } from '../../../protocol/memory/validity.js';
import type { Answers } from '../../../protocol/release.js';
import type { ReadCall } from '../../pipeline/call.js';
import type { RerankAbsence } from '../../semantics/reranker/reranker.js';
import { Passages } from './passage.js';
import type { RecallInput } from './recall-request.js';

type Ranked = Answers['recall-memories'];

/** An answer, and what the reranker did with it. */
export interface Reranked {
  readonly answer: Ranked;
  /** `none` where no reranker was asked. */
  readonly reranked: 'neural' | 'none' | RerankAbsence;
}

/** Whether this recall asks the reranker: a caller who names a tier below `autonomous` does not want it. */
export const asksReranker = ({ services }: ReadCall, { feature_tier: tier }: RecallInput): boolean =>
  services.reranker.state().enabled && (tier === undefined || tier === 'autonomous');

/** How many rows a ranking must have so that those of the answer can be chosen among them. */
export const rowsToRank = (call: ReadCall, input: RecallInput, limit: number): number =>
  asksReranker(call, input) ? Math.max(limit, RERANK_ROWS_MAX) : limit;

/**
 * The rows in the order that ranking and reranker have together, at most `limit`; the order of the ranking where the reranker
 * does not answer in time. Scores and the cut keep their places: the model says which row comes first, also of those below the
 * cut, and not how likely one answers.
 */
export async function rerank(
  call: ReadCall,
  input: RecallInput,
  answer: Ranked,
  limit: number,
): Promise<Reranked> {
  const cut = (rows: Ranked['rows']): Ranked => ({
    ...answer,
    rows: rows.filter(({ cut: place }) => place !== 'below').slice(0, limit),
    truncated: answer.truncated && rows.length < limit,
  });
  const first = answer.rows.slice(0, RERANK_ROWS_MAX);
  if (!asksReranker(call, input) || first.length < 2) return { answer: cut(answer.rows), reranked: 'none' };
  const relevances = await relevancesOf(call, input.context.trim(), first);
  if (typeof relevances === 'string') return { answer: cut(answer.rows), reranked: relevances };
  const at = input.as_of ?? call.now;
  const rows = [...blended(first, relevances, at), ...answer.rows.slice(RERANK_ROWS_MAX)];
  return { answer: cut(rows), reranked: 'neural' };
}

function relevancesOf(
  { services: { reranker, clock, settings }, deadlineMs = Number.POSITIVE_INFINITY }: ReadCall,
  query: string,
  rows: Ranked['rows'],
): Promise<readonly number[] | RerankAbsence> {
  const contents = rows.map(({ memory }) => memory.content);
  const passages = new Passages(query).of(
    contents,
    contents.map(() => RERANK_TEXT_TOKENS),
  );
  const texts = rows.map(({ memory }, at) => `${memory.title}\n${passages[at]!.text}`);
  const latestMs = clock.monotonicMs() + settings.rerankerTimeoutMs;
  return reranker.relevances(query, texts, Math.min(deadlineMs, latestMs));
}

/** The rows by their blend of both; equal ones keep their order. */
function blended(rows: Ranked['rows'], relevances: readonly number[], instant: Instant): Ranked['rows'] {
  const weighed = rows.map((row, at) => ({
    row,
    blend:
      (1 - RERANK_WEIGHT) * row.score +
      RERANK_WEIGHT * relevances[at]! * (validityAt(row.memory, instant) === 'valid' ? 1 : LAPSED_SHARE),
  }));
  const ordered = weighed.sort((left, right) => right.blend - left.blend);
  return ordered.map(({ row }, at) => ({ ...row, score: rows[at]!.score, cut: rows[at]!.cut }));
}
