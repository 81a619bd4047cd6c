/**
 * What speaks for an answer: the best of each sort of evidence that its first rows hold. Weights of words are telling
 * weights (`Postings`), and shares are shares of the weight of the whole query.
 */
export interface AnswerEvidence {
  /** Share of the query in one passage of a row, together with its title and tags. */
  readonly together: number;
  /** The words of that passage, counted in words that only one row holds. */
  readonly words: number;
  /** Lexical score, pairs and phrases included, as a share. */
  readonly lexical: number;
  /** The same of the neighbours of a row. */
  readonly context: number;
  /** Share of the query that no row of the scope holds. */
  readonly unknown: number;
  /** The part of it that is names and numbers. */
  readonly unknownNames: number;
  /** The cosines of the rows in standard deviations (`CosineReader`), highest first; none in an answer by words only. */
  readonly standings: readonly number[];
}

/** How many rows of an answer are judged. */
export const JUDGED_ROWS = 10;
/** A row that is less likely to answer is dropped, and does not count as used. */
export const RECALL_MIN_SCORE = 0.25;
/** Rows that the nearest row is compared with. */
const OTHERS = 3;

/**
 * Weights of `featuresOf`, fitted by `npm run bench -- score <file>` to the questions of `fixtures/` and to five conversations
 * of LoCoMo (2026-11). The first of
 * `WORDS_ONLY` is moved so that one cut serves both.
 */
const WORDS_ONLY = [-1.36, 1.51, 0.32, 1.78, 0.96, 0.75, -0.79, -1.94, -1.27];
const WITH_MEANING = [-1.01, 1.98, 1.21, -1.45, 1.7, 1.14, -1.55, -0.17, -2.25, -0.28, 0.1, 0.76];

/** The evidence as the numbers that are weighted. */
export function featuresOf(evidence: AnswerEvidence): number[] {
  const { together, lexical, context, unknown, unknownNames, standings } = evidence;
  const words = Math.log1p(evidence.words);
  const features = [1, together, together ** 2, words, words ** 2, Math.log1p(lexical), Math.log1p(context)];
  features.push(unknown, unknownNames);
  if (standings.length === 0) return features;
  const standing = Math.max(0, standings[0] ?? 0);
  let others = 0;
  for (let at = 1; at <= OTHERS; at++) others += (standings[at] ?? 0) / OTHERS;
  return [...features, standing, standing ** 2, Math.max(0, (standings[0] ?? 0) - others)];
}

/** How likely an answer holds what the query asks for, 0 to 1. */
export function likelihood(evidence: AnswerEvidence): number {
  return 1 / (1 + Math.exp(-logOdds(evidence)));
}

/** The same as the logarithm of the odds. */
export function logOdds(evidence: AnswerEvidence): number {
  const weights = evidence.standings.length === 0 ? WORDS_ONLY : WITH_MEANING;
  return featuresOf(evidence).reduce((total, feature, at) => total + feature * (weights[at] ?? 0), 0);
}

/**
 * The score of a row with `share` of the evidence of the best row, 0 to 1. The likelier the answer, the less a row with little
 * evidence of its own loses: there it is right often enough to be kept.
 */
export function rowScore(likely: number, share: number): number {
  const own = Math.min(1, Math.max(0, share));
  return likely * own ** (1 - likely) * (0.5 + 0.5 * own);
}
