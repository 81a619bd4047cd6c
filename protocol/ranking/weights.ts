/**
 * Every number of the ranking, in one place. The unit of a weight is the score of a perfect lexical match, 1, unless
 * it says otherwise.
 */
export interface RankingWeights {
  /** Saturation of repeated words (BM25's k1). */
  readonly saturation: number;
  /** How much a text longer than the average pays (BM25's b), 0 to 1. */
  readonly lengthPenalty: number;
  /** A word in the title counts as this many in the content. */
  readonly titleWeight: number;
  readonly tagWeight: number;
  /** Share added for query words that stand together in one passage. */
  readonly passage: number;
  /** Words in a passage. */
  readonly passageWords: number;
  /** Share of a pair's weight added when two query words stand within `nearWords` of each other. */
  readonly near: number;
  readonly nearWords: number;
  /** The same when they follow one another as in the query, within `adjacentWords`. */
  readonly adjacent: number;
  readonly adjacentWords: number;
  /** The same for a query word with a function word beside it (`her dad`, `looking for`). */
  readonly phrase: number;
  /** Lexical evidence of the rows around, in shares of their own; one entry for each distance from 1. */
  readonly context: readonly number[];
  /** Rows of this many words get half of that context: a long text is its own context. */
  readonly contextWords: number;
  /** Cosine, for each standard deviation above the mean of the namespace. */
  readonly semantic: number;
  /** Added for each standard deviation above `semanticPeakFrom` as lexical evidence goes to nothing: a cosine far out is seldom chance. */
  readonly semanticPeak: number;
  readonly semanticPeakFrom: number;
  /** The same for the mean of the rows around. */
  readonly semanticContext: number;
  /** Share of the query, by weight, that some row's words must explain for lexical evidence to lead fully. */
  readonly strengthFull: number;
  /** Power by which lexical evidence shrinks as less of the query is explained by any row's words. */
  readonly strengthPower: number;
  /** Added to the semantic weight as lexical evidence goes to nothing. */
  readonly semanticAlone: number;
  /** What a query word that no row knows counts when evidence is measured, in shares of a rare word's weight. */
  readonly unknownWord: number;
  /** Bounds of the boosts; together they stay below what one rare word is worth. */
  readonly boostTier: number;
  readonly boostPriority: number;
  readonly boostConfidence: number;
  readonly boostRecency: number;
  /** Of a row that the caller's session has recalled before. */
  readonly boostSession: number;
  /** Days after which recency has halved. */
  readonly recencyHalfLifeDays: number;
}

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
  context: [0.5, 0.25],
  contextWords: 150,
  semantic: 0.075,
  semanticPeak: 0.3,
  semanticPeakFrom: 2,
  semanticContext: 0.1,
  strengthFull: 0.5,
  strengthPower: 1.3,
  semanticAlone: 0.2,
  unknownWord: 1,
  boostTier: 0.01,
  boostPriority: 0.02,
  boostConfidence: 0.01,
  boostRecency: 0.02,
  boostSession: 0.05,
  recencyHalfLifeDays: 30,
};
