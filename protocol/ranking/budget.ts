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
 * Bounds the returned content by tokens (interface §4.3, decisions "Recall and search"): 0 gives an empty list; the
 * first row is returned even when it exceeds the budget by itself; the list stops at the first row that does not fit.
 * Without a budget nothing is tokenized, because on long rows counting costs more than the recall itself.
 */
export function applyBudget<T extends Budgeted>(
  rows: readonly T[],
  budgetTokens: number | null,
  countTokens: (text: string) => number,
): BudgetOutcome<T> {
  if (budgetTokens === null) {
    const characters = rows.reduce((sum, row) => sum + row.memory.content.length, 0);
    return { rows, tokensUsed: Math.floor(characters / 4), meta: {} };
  }
  const kept: T[] = [];
  let used = 0;
  for (const row of budgetTokens === 0 ? [] : rows) {
    const tokens = countTokens(row.memory.content);
    if (kept.length > 0 && used + tokens > budgetTokens) break;
    kept.push(row);
    used += tokens;
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
