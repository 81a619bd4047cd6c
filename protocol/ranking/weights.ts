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
  /** Lexical evidence of the neighbouring rows, as shares of their score; one entry for each distance from 1. */
  readonly context: readonly number[];
  /** Rows of this many words get half of that context: a long text provides its own context. */
  readonly contextWords: number;
  /** Share of the score of a question that goes to the row after it, in the place of the first share of `context`. */
  readonly answer: number;
  /** Share that a neighbour's score loses when the row itself has all the query words of that neighbour. */
  readonly repeated: number;
  /** Share of its own score that a row loses when it ends with a question: such a row seldom answers one. */
  readonly question: number;
  /** Cosine, for each standard deviation above the mean of the namespace. */
  readonly semantic: number;
  /**
   * Added for each standard deviation above `semanticPeakFrom` as lexical evidence goes to zero: such a high cosine is
   * seldom chance.
   */
  readonly semanticPeak: number;
  readonly semanticPeakFrom: number;
  /** The same for the mean of the neighbouring rows. */
  readonly semanticContext: number;
  /** Share of the query, by weight, that some row's words must explain for lexical evidence to lead fully. */
  readonly strengthFull: number;
  /** Exponent by which lexical evidence shrinks when the words of all rows explain less of the query. */
  readonly strengthPower: number;
  /** Added to the semantic weight as lexical evidence goes to zero. */
  readonly semanticAlone: number;
  /** For each log odds that a row by itself answers, as lexical evidence goes to zero; moves the first rows of a hybrid answer. */
  readonly own: number;
  /** The weight of a query word that no row contains when evidence is measured, as a share of a rare word's weight. */
  readonly unknownWord: number;
  /** Bounds of the boosts; together they stay below the weight of one rare word. */
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
  context: [0.7, 0.35],
  contextWords: 150,
  answer: 1.3,
  repeated: 0.7,
  question: 0.4,
  semantic: 0.075,
  semanticPeak: 0.95,
  semanticPeakFrom: 1.9,
  semanticContext: 0.1,
  strengthFull: 0.5,
  strengthPower: 1.3,
  semanticAlone: 0.08,
  own: 1.2,
  unknownWord: 1,
  boostTier: 0.01,
  boostPriority: 0.02,
  boostConfidence: 0.01,
  boostRecency: 0.02,
  boostSession: 0.05,
  halfLifeDays: RECENCY_HALF_LIVES,
};

/** The weights of a request: with its half-lives, or without recency. */
export const weightsOf = (recency: HalfLives | 'none' | undefined): RankingWeights =>
  recency === undefined
    ? RANKING_WEIGHTS
    : recency === 'none'
      ? { ...RANKING_WEIGHTS, boostRecency: 0 }
      : { ...RANKING_WEIGHTS, halfLifeDays: recency };
