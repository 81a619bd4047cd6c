/**
 * Every number of the ranking, in one place. A weight of 1 is the score of a perfect lexical match, unless its comment
 * says otherwise.
 */
export interface RankingWeights {
  /** Saturation of repeated words (BM25's k1). */
  readonly saturation: number;
  /** How much a text longer than the average loses (BM25's b), 0 to 1. */
  readonly lengthPenalty: number;
  /** A word in the title counts as this many words in the content. */
  readonly titleWeight: number;
  readonly tagWeight: number;
  /** Share added for query words that are in one passage. */
  readonly passage: number;
  /** Words in a passage. */
  readonly passageWords: number;
  /** Share of a pair's weight added when two query words are within `nearWords` of each other. */
  readonly near: number;
  readonly nearWords: number;
  /** The same for words that follow each other as in the query, within `adjacentWords`. */
  readonly adjacent: number;
  readonly adjacentWords: number;
  /** The same for a query word next to a function word (`her dad`, `looking for`). */
  readonly phrase: number;
  /** A row whose words explain this share of the query, by weight, explains it fully. */
  readonly explainedFully: number;
  /** Bounds of the boosts in log odds; together they stay below the weight of one rare word. */
  readonly boostTier: number;
  readonly boostPriority: number;
  readonly boostConfidence: number;
  readonly boostRecency: number;
  /** For a row that the caller's session has already recalled. */
  readonly boostSession: number;
  /** Days after which the recency of a row halves. */
  readonly halfLifeDays: HalfLives;
}

/** Days by tier. */
export type HalfLives = Readonly<Record<'short' | 'mid' | 'long', number>>;

/** What is kept longer is expected to be true for longer. */
export const RECENCY_HALF_LIVES: HalfLives = { short: 7, mid: 30, long: 365 };

export const RANKING_WEIGHTS: RankingWeights = {
  saturation: 1.2,
  lengthPenalty: 0.5,
  titleWeight: 2,
  tagWeight: 1,
  passage: 0.3,
  passageWords: 40,
  near: 0.4,
  nearWords: 12,
  adjacent: 0.9,
  adjacentWords: 3,
  phrase: 0.5,
  explainedFully: 0.5,
  boostTier: 0.05,
  boostPriority: 0.1,
  boostConfidence: 0.05,
  boostRecency: 0.1,
  boostSession: 0.25,
  halfLifeDays: RECENCY_HALF_LIVES,
};

/** The weights of a request: with its half-lives, or without recency. */
export const weightsOf = (recency: HalfLives | 'none' | undefined): RankingWeights =>
  recency === undefined
    ? RANKING_WEIGHTS
    : recency === 'none'
      ? { ...RANKING_WEIGHTS, boostRecency: 0 }
      : { ...RANKING_WEIGHTS, halfLifeDays: recency };
