import { ok, type Result } from '../../protocol/base/result.js';
import { type CountTokens, countsWithin } from './budget.js';
import { loadTokenCounting } from './count-tokens.js';

/** Counts cl100k tokens, the unit of `budget_tokens` (interface §4.3). */
export interface TokenCounter {
  /**
   * The tokens of texts, in order, up to the first text with which the sum is above the budget. OVERLOADED (not begun),
   * DEADLINE and UNAVAILABLE. `deadlineMs` is monotonic.
   */
  counts(texts: readonly string[], budget: number, deadlineMs?: number): Promise<Result<readonly number[]>>;
}

/** Counts in the calling thread, for processes that serve one agent. The tables are loaded at the first count. */
export function inlineTokenCounter(): TokenCounter {
  let count: CountTokens | null = null;
  return {
    counts(texts, budget) {
      count ??= loadTokenCounting();
      return Promise.resolve(ok([...countsWithin(texts, budget, count)]));
    },
  };
}
