/**
 * What speaks for a row, as the numbers that the fitted weights read. Shares are shares of the weight of the whole query, so
 * they mean the same in a store of ten memories and of a million.
 */

/** What a row is. A turn is judged with the turns around it; a conversation is one that is told in a single long text. */
export const ROW_SORTS = ['note', 'turn', 'conversation'] as const;
export type RowSort = (typeof ROW_SORTS)[number];

/** A turn with more characters is a conversation by itself. */
const CONVERSATION_LETTERS_MIN = 1000;

export const sortOf = (spoken: boolean, letters: number): RowSort =>
  spoken ? (letters >= CONVERSATION_LETTERS_MIN ? 'conversation' : 'turn') : 'note';

/** What a query is, and how much of it the rows explain. */
export interface QueryEvidence {
  /** Share of the query that no row of the scope holds. */
  readonly unknown: number;
  /** The part of it that is names and numbers. */
  readonly unknownNames: number;
  /** Share of the query that is names and numbers. */
  readonly names: number;
  readonly terms: number;
  /** Rows of the scope. */
  readonly rows: number;
  /** How much of the query the words of any one row explain, 0 to 1. */
  readonly explained: number;
}

/** A turn before or after the turn that is judged. */
export interface NeighbourEvidence {
  readonly lexical: number;
  readonly covered: number;
  /** Share of its words that the row itself lacks. */
  readonly fresh: number;
  readonly deviations: number | null;
  readonly asks: boolean;
}

/** Two turns before and two after, the nearest first. */
export type Neighbours = readonly (NeighbourEvidence | null)[];

export interface RowEvidence {
  /** Lexical score, pairs and phrases included, as a share. */
  readonly lexical: number;
  /** Share of the query whose words the row has. */
  readonly covered: number;
  /** Share of the query in one passage of the row, together with its title and tags. */
  readonly together: number;
  /** The words of that passage, counted in words that only one row holds. */
  readonly words: number;
  /** Share of the query in title and tags. */
  readonly titled: number;
  /** Share of the query that is names and numbers which the row has. */
  readonly names: number;
  /** Pairs of query words near each other, pairs in the order of the query, and phrases. */
  readonly near: number;
  readonly adjacent: number;
  readonly phrases: number;
  /** True for a row that ends with a question. */
  readonly asks: boolean;
  /** Characters of the content. */
  readonly letters: number;
  /** The cosine in standard deviations from the mean, and how far it stands out (`CosineReader`); null without a vector. */
  readonly deviations: number | null;
  readonly standing: number | null;
  /** Of a turn. */
  readonly neighbours: Neighbours;
}

/** The best and the second best of a sort of evidence among the rows of an answer. */
class Best {
  #first = 0;
  #second = 0;

  take(value: number): void {
    if (value > this.#first) {
      this.#second = this.#first;
      this.#first = value;
    } else if (value > this.#second) this.#second = value;
  }

  get first(): number {
    return this.#first;
  }

  /** The best of the others; two rows with one value are each other's best. */
  beside(value: number): number {
    return value >= this.#first ? this.#second : this.#first;
  }
}

/** The best evidence of the rows of an answer, by which each of them is compared with the others. */
export class AnswerEvidence {
  readonly lexical = new Best();
  readonly together = new Best();
  readonly deviations = new Best();

  constructor(rows: Iterable<RowEvidence>) {
    for (const row of rows) {
      this.lexical.take(row.lexical);
      this.together.take(row.together);
      if (row.deviations !== null) this.deviations.take(row.deviations);
    }
  }
}

/** A cosine is seldom chance from so many standard deviations on. */
const PEAK_FROM = 1.9;

/** The evidence of a row as the numbers that are weighted; `meaning` adds those of its vector. */
export function featuresOf(
  row: RowEvidence,
  query: QueryEvidence,
  answer: AnswerEvidence,
  sort: RowSort,
  meaning: boolean,
): number[] {
  const words = Math.log1p(row.words);
  const asks = row.asks ? 1 : 0;
  const relative = row.lexical - answer.lexical.beside(row.lexical);
  const other = answer.together.beside(row.together);
  const led = query.explained / Math.max(1e-9, answer.lexical.first);
  const features = [1, row.together, row.together ** 2, words, words ** 2, Math.log1p(row.lexical)];
  features.push(row.covered, row.titled, row.names, asks, asks * row.lexical, Math.log1p(row.letters) / 5);
  features.push(Math.log1p(row.near), Math.log1p(row.adjacent), Math.log1p(row.phrases));
  features.push(
    query.unknown,
    query.unknownNames,
    query.names,
    query.terms / 10,
    Math.log1p(query.rows) / 10,
  );
  features.push(query.explained, row.lexical * led, relative, Math.min(0, relative));
  features.push(row.together - other, Math.min(0, row.together - other), other);
  if (meaning) addMeaning(features, row, query, answer);
  if (sort === 'turn') for (const one of row.neighbours) addNeighbour(features, one, led, meaning);
  return features;
}

function addMeaning(
  features: number[],
  row: RowEvidence,
  { explained }: QueryEvidence,
  answer: AnswerEvidence,
): void {
  const deviations = row.deviations ?? 0;
  const peak = Math.max(0, deviations - PEAK_FROM);
  const other = answer.deviations.beside(deviations);
  features.push(deviations, peak, row.standing ?? 0, deviations * (1 - explained), peak * (1 - explained));
  features.push(deviations - other, Math.min(0, deviations - other), other);
  features.push(row.lexical * deviations, row.names * deviations, row.deviations === null ? 1 : 0);
}

function addNeighbour(
  features: number[],
  one: NeighbourEvidence | null,
  led: number,
  meaning: boolean,
): void {
  const asks = one?.asks === true ? 1 : 0;
  const { lexical, covered, fresh, deviations } = one ?? NO_NEIGHBOUR;
  features.push(one === null ? 0 : 1, lexical, covered, lexical * fresh, asks, asks * lexical, lexical * led);
  if (meaning) features.push(deviations ?? 0);
}

const NO_NEIGHBOUR: NeighbourEvidence = { lexical: 0, covered: 0, fresh: 0, deviations: null, asks: false };
