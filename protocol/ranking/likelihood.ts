import type { RowSort } from './evidence.js';
import { FITTED } from './fitted-weights.js';

/**
 * A row that is less likely to answer is left out of an answer, whatever the first row is. The evidence of a conversation is
 * spread over its turns, so one turn holds it seldom: there the cut is lower, unless a memory that stands for itself answers.
 */
export const RECALL_MIN_SCORE = 0.3;
export const SPOKEN_MIN_SCORES = { turn: 0.01, conversation: 0.03 } as const;
/** An answer whose first row is less likely is doubtful. */
export const SURE_MIN_SCORE = 0.5;
/** So many rows of a doubtful answer are returned, those that did not pass as weak. */
export const WEAK_ROWS = 3;
const WEAK_MIN_SCORE = 0.05;
/** A weak row is not much less likely than the first one. */
const WEAK_SHARE = 0.25;

/** The least score of a weak row behind a first one; null where the answer is not doubtful. */
export const leastWeakScore = (first: number): number | null =>
  first >= SURE_MIN_SCORE ? null : Math.max(WEAK_MIN_SCORE, first * WEAK_SHARE);

/** The least score of a row of an answer by default; `answered` when a memory that stands for itself passes its own. */
export const leastScore = (sort: RowSort, answered: boolean): number =>
  sort === 'note' || answered ? RECALL_MIN_SCORE : SPOKEN_MIN_SCORES[sort];

/** The log odds that a row answers, by the fitted weights. */
export function logOdds(features: readonly number[], sort: RowSort, meaning: boolean): number {
  const weights = FITTED[sort][meaning ? 'hybrid' : 'words'];
  let odds = 0;
  for (let at = 0; at < features.length; at++) odds += (features[at] ?? 0) * (weights[at] ?? 0);
  return Number.isFinite(odds) ? Math.min(20, Math.max(-20, odds)) : -20;
}

/** The likelihood, 0 to 1, of log odds. */
export const likelihood = (odds: number): number => 1 / (1 + Math.exp(-odds));
