/** Why an answer keeps the order of the ranking: a word for `meta`. */
export type RerankAbsence = 'busy' | 'late' | 'failing';

export interface RerankerState {
  readonly enabled: boolean;
  readonly failing: boolean;
  readonly lastError: string | null;
  /** Null without a reranker. */
  readonly model: string | null;
}

/** Says how relevant texts are to a query, both read together by one model. */
export interface Reranker {
  /**
   * The relevance of each text, 0 to 1, or why there is none. Never throws, and answers by `deadlineMs` (monotonic) at the
   * latest.
   */
  relevances(
    query: string,
    texts: readonly string[],
    deadlineMs: number,
  ): Promise<readonly number[] | RerankAbsence>;
  state(): RerankerState;
  close(): Promise<void>;
}

/** True while the order of an answer follows its relevances. */
export const isReranking = ({ enabled, failing }: RerankerState): boolean => enabled && !failing;

/** Scores of a model as relevances: those that are no shares are the logarithms of odds. */
export function relevancesOf(scores: readonly number[]): readonly number[] {
  if (scores.every((score) => score >= 0 && score <= 1)) return scores;
  return scores.map((score) => 1 / (1 + Math.exp(-score)));
}
