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
  /** How far the nearest of the rows stands out (`CosineReader`); null in an answer by words only. */
  readonly standing: number | null;
}

/** How many rows of an answer are judged. */
export const JUDGED_ROWS = 10;
/** A row that is less likely to answer is dropped, and does not count as used. */
export const RECALL_MIN_SCORE = 0.25;
/** Where no row passes, so many of those that are near it are returned as weak. */
export const WEAK_ROWS = 3;
export const WEAK_MIN_SCORE = 0.1;

/**
 * Weights of `featuresOf`, fitted by `npm run bench -- score <file>` to the questions of `fixtures/` and to five conversations
 * of LoCoMo (2026-11). The first of
 * `WORDS_ONLY` is moved so that one cut serves both.
 */
const WORDS_ONLY = [-1.36, 1.51, 0.32, 1.78, 0.96, 0.75, -0.79, -1.94, -1.27];
const WITH_MEANING = [-3.05, 1.76, 0.87, -0.23, 1.06, 0.32, -0.78, -0.88, -1.78, 3.36];

/** The evidence as the numbers that are weighted. */
export function featuresOf(evidence: AnswerEvidence): number[] {
  const { together, lexical, context, unknown, unknownNames, standing } = evidence;
  const words = Math.log1p(evidence.words);
  const features = [1, together, together ** 2, words, words ** 2, Math.log1p(lexical), Math.log1p(context)];
  features.push(unknown, unknownNames);
  return standing === null ? features : [...features, standing];
}

/** How likely an answer holds what the query asks for, 0 to 1. */
export function likelihood(evidence: AnswerEvidence): number {
  return 1 / (1 + Math.exp(-logOdds(evidence)));
}

/** The same as the logarithm of the odds. */
export function logOdds(evidence: AnswerEvidence): number {
  const weights = evidence.standing === null ? WORDS_ONLY : WITH_MEANING;
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
