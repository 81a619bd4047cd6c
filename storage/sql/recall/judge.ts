import { boostOf } from '../../../protocol/ranking/boosts.js';
import {
  AnswerEvidence,
  featuresOf,
  type NeighbourEvidence,
  type Neighbours,
  type QueryEvidence,
  type RowEvidence,
  type RowSort,
  sortOf,
} from '../../../protocol/ranking/evidence.js';
import { type LexicalEvidence, type LexicalScorer, PairWeights } from '../../../protocol/ranking/lexical.js';
import { logOdds } from '../../../protocol/ranking/likelihood.js';
import type { QueryAnalysis } from '../../../protocol/ranking/query.js';
import type { RankingWeights } from '../../../protocol/ranking/weights.js';
import type { CosineReader } from './cosines.js';
import type { Postings } from './postings.js';
import type { LoadedRow } from './rows.js';

/** A row that was read, with what it has of the words. */
export interface Scored {
  readonly row: LoadedRow;
  readonly evidence: LexicalEvidence;
  /** True when the row ends with a question. */
  readonly asks: boolean;
}

/** A row with the log odds that it answers. */
export interface JudgedRow {
  readonly rid: number;
  readonly odds: number;
  readonly sort: RowSort;
  /** The cosine in standard deviations; null without a vector. */
  readonly deviations: number | null;
}

/** What a row is judged by, as the fit of the weights reads it. */
export interface JudgedFeatures {
  readonly rid: number;
  readonly sort: RowSort;
  readonly features: readonly number[];
}

/** The turns around a turn, the nearest first. */
export interface Beside {
  readonly before: readonly number[];
  readonly after: readonly number[];
}

/** What was read to judge by. */
export interface Read {
  readonly scored: ReadonlyMap<number, Scored>;
  readonly cosines: CosineReader | null;
  readonly beside: ReadonlyMap<number, Beside>;
  /** Neighbours without a word of the query, which were not read. */
  readonly unread: number;
}

type Take = (row: LoadedRow, sort: RowSort, features: readonly number[], deviations: number | null) => void;

/** How many turns to each side of a turn are read. */
export const NEIGHBOURS = 2;
const NOBODY: Neighbours = Array.from({ length: 2 * NEIGHBOURS }, () => null);

/** A memory that does not hold now is half as likely to be wanted. */
const LAPSED_ODDS = Math.LN2;

/** What a judge knows of a query before any row is read. */
export interface Asked {
  readonly analysis: QueryAnalysis;
  readonly postings: Postings;
  readonly scorer: LexicalScorer;
  readonly weights: RankingWeights;
  /** Rows of the scope. */
  readonly rows: number;
  readonly nowMs: number;
  readonly recalled: ReadonlySet<number>;
  /** True where what does not hold now counts less. */
  readonly today: boolean;
}

/** Judges each row by itself: how likely it answers the query. Only a turn is judged by its neighbours too. */
export class Judge {
  readonly #asked: Asked;
  /** By how much a sum of weights becomes a share of the query: of what orders rows, and of what tells them apart. */
  readonly #share: number;
  readonly #tellingShare: number;
  readonly #named: readonly number[];
  readonly #unknown: number;
  readonly #unknownNames: number;
  readonly #names: number;

  constructor(asked: Asked) {
    this.#asked = asked;
    const { analysis, postings } = asked;
    const { idf, telling, found } = postings;
    const sumOf = (weights: Float64Array, counts: (term: number) => boolean = () => true) =>
      weights.reduce((sum, weight, term) => (counts(term) ? sum + weight : sum), 0);
    const isName = (term: number) => analysis.terms[term]?.name === true;
    const isUnknown = (term: number) => found[term] !== 1;
    const shareOf = (sum: number) => (sum > 0 ? 1 / sum : 0);
    this.#share = shareOf(sumOf(idf));
    this.#tellingShare = shareOf(sumOf(telling));
    this.#named = analysis.terms.map((_, term) => (isName(term) ? (telling[term] ?? 0) : 0));
    this.#unknown = sumOf(telling, isUnknown) * this.#tellingShare;
    this.#unknownNames = sumOf(telling, (term) => isUnknown(term) && isName(term)) * this.#tellingShare;
    this.#names = sumOf(telling, isName) * this.#tellingShare;
  }

  /** How much of the query, by weight, the words of any one row explain; half of it explains it fully. */
  explained(scored: ReadonlyMap<number, Scored>): number {
    let covered = 0;
    for (const { evidence } of scored.values()) covered = Math.max(covered, evidence.covered);
    return Math.min(1, (covered * this.#share) / this.#asked.weights.explainedFully);
  }

  /** The rows, the likeliest first. */
  judge(read: Read): JudgedRow[] {
    const judged: JudgedRow[] = [];
    const { weights, nowMs, recalled, today } = this.#asked;
    const meaning = read.cosines !== null;
    this.#each(read, ({ rid, tier, priority, confidence, createdAt, holds }, sort, features, deviations) => {
      const ageDays = Math.max(0, (nowMs - Date.parse(createdAt)) / 86_400_000);
      const boost = boostOf({ tier, priority, confidence, ageDays, recalled: recalled.has(rid) }, weights);
      const odds = logOdds(features, sort, meaning) + boost - (holds || !today ? 0 : LAPSED_ODDS);
      judged.push({ rid, odds, sort, deviations });
    });
    return judged.sort((left, right) => right.odds - left.odds || right.rid - left.rid);
  }

  /** The features of the rows, for the fit. */
  features(read: Read): JudgedFeatures[] {
    const all: JudgedFeatures[] = [];
    this.#each(read, ({ rid }, sort, features) => all.push({ rid, sort, features }));
    return all;
  }

  #each(read: Read, take: Take): void {
    const { scored, cosines } = read;
    const { postings, weights } = this.#asked;
    const all = [...scored.values()];
    const pairs = new PairWeights(all, all.length + read.unread, weights);
    const lexicalOf = (one: Scored | undefined) =>
      one === undefined ? 0 : pairs.score(one.evidence) * this.#share;
    const rows: LoadedRow[] = [];
    const evidence: RowEvidence[] = [];
    for (const one of all) {
      const { rid, spoken } = one.row;
      const lexical = lexicalOf(one);
      const deviations = cosines?.deviations(rid) ?? null;
      // A row without a word of the query needs its own vector.
      if (lexical === 0 && deviations === null) continue;
      const beside = spoken ? read.beside.get(rid) : undefined;
      rows.push(one.row);
      evidence.push({
        ...this.#ownEvidence(one, lexical, postings.rarest),
        deviations,
        standing: cosines?.standing(rid) ?? null,
        neighbours: beside === undefined ? NOBODY : this.#neighboursOf(one, read, lexicalOf, beside),
      });
    }
    const answer = new AnswerEvidence(evidence);
    const query = this.#queryEvidence(scored);
    for (const [at, one] of evidence.entries()) {
      const sort = sortOf(rows[at]!.spoken, one.letters);
      take(rows[at]!, sort, featuresOf(one, query, answer, sort, cosines !== null), one.deviations);
    }
  }

  #queryEvidence(scored: ReadonlyMap<number, Scored>): QueryEvidence {
    return {
      unknown: this.#unknown,
      unknownNames: this.#unknownNames,
      names: this.#names,
      terms: this.#asked.analysis.terms.length,
      rows: this.#asked.rows,
      explained: this.explained(scored),
    };
  }

  #ownEvidence({ row, evidence, asks }: Scored, lexical: number, rarest: number) {
    let names = 0;
    for (let rest = evidence.terms; rest !== 0; rest &= rest - 1) {
      names += this.#named[31 - Math.clz32(rest & -rest)] ?? 0;
    }
    return {
      lexical,
      covered: evidence.covered * this.#share,
      together: evidence.together * this.#tellingShare,
      words: evidence.together / rarest,
      titled: evidence.named * this.#tellingShare,
      names: names * this.#tellingShare,
      near: bitsOf(evidence.near),
      adjacent: bitsOf(evidence.adjacent),
      phrases: bitsOf(evidence.phrases),
      asks,
      letters: row.letters,
    };
  }

  #neighboursOf(
    { evidence }: Scored,
    { scored, cosines }: Read,
    lexicalOf: (one: Scored | undefined) => number,
    { before, after }: Beside,
  ): Neighbours {
    const one = (rid: number | undefined): NeighbourEvidence | null => {
      if (rid === undefined) return null;
      const other = scored.get(rid);
      return {
        lexical: lexicalOf(other),
        covered: (other?.evidence.covered ?? 0) * this.#share,
        fresh: other === undefined ? 1 : 1 - this.#repeated(evidence, other.evidence),
        deviations: cosines?.deviations(rid) ?? null,
        asks: other?.asks === true,
      };
    };
    return [one(before[0]), one(before[1]), one(after[0]), one(after[1])];
  }

  /** How much of what a neighbour has of the query the row has too, by weight, 0 to 1. */
  #repeated(own: LexicalEvidence, other: LexicalEvidence): number {
    const { scorer } = this.#asked;
    const all = scorer.weightOf(other.terms);
    return all > 0 ? scorer.weightOf(own.terms & other.terms) / all : 0;
  }
}

function bitsOf(mask: number): number {
  let count = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}
