/** Counts the cl100k tokens of a text. */
export type CountTokens = (text: string) => number;

/** The parts of a ranked memory that a budget needs. */
interface Budgeted {
  readonly memory: { readonly content: string };
}

export interface BudgetOutcome<T> {
  readonly rows: readonly T[];
  /** cl100k tokens of the returned content when a budget was set; else the estimate of four characters a token. */
  readonly tokensUsed: number;
  /** Fields of the answer's `meta`; empty without a budget. */
  readonly meta: Readonly<Record<string, number | boolean>>;
}

/**
 * Bounds the returned content by tokens (interface §4.3, decisions "Recall and search"): 0 is an empty list, the
 * first row is returned even when it exceeds the budget, and the list stops at the first row that does not fit. Without a
 * budget nothing is counted: counting costs more than the recall itself on long rows. `tokens` are those of the rows, in
 * order, up to the first row with which their sum is above the budget. `spent` tokens of the budget are used by other texts.
 */
export function applyBudget<T extends Budgeted>(
  rows: readonly T[],
  budgetTokens: number | null,
  tokens: readonly number[],
  spent = 0,
): BudgetOutcome<T> {
  if (budgetTokens === null) {
    const characters = rows.reduce((sum, row) => sum + row.memory.content.length, 0);
    return { rows, tokensUsed: Math.floor(characters / 4), meta: {} };
  }
  const kept: T[] = [];
  let used = spent;
  for (const [index, count] of budgetTokens === 0 ? [] : tokens.entries()) {
    if (kept.length > 0 && used + count > budgetTokens) break;
    kept.push(rows[index]!);
    used += count;
    if (used > budgetTokens) break;
  }
  return {
    rows: kept,
    tokensUsed: used,
    meta: {
      budget_tokens_used: used,
      budget_tokens_remaining: Math.max(0, budgetTokens - used),
      memories_dropped: rows.length - kept.length,
      budget_overflow: used > budgetTokens,
    },
  };
}

/** The tokens of texts, in order, up to the first text with which the sum is above the budget. */
export function* countsWithin(
  texts: readonly string[],
  budget: number,
  count: CountTokens,
): Generator<number> {
  let used = 0;
  for (const text of texts) {
    const tokens = count(text);
    yield tokens;
    used += tokens;
    if (used > budget) return;
  }
}
