import { VECTOR_CANDIDATES_MAX } from '../../../protocol/base/limits.js';
import { confidenceTierOf } from '../../../protocol/memory/confidence.js';
import type { RankedMemories, SearchMemories } from '../../../protocol/memory/queries.js';
import { isFiltered } from '../../../protocol/memory/recall-filter.js';
import type {
  RankedRow,
  RecallRequest,
  RowCut,
  VectorEvidence,
} from '../../../protocol/memory/recall-request.js';
import { type LexicalEvidence, LexicalScorer } from '../../../protocol/ranking/lexical.js';
import {
  leastScore,
  leastWeakScore,
  likelihood,
  RECALL_MIN_SCORE,
  WEAK_ROWS,
} from '../../../protocol/ranking/likelihood.js';
import { analyseQuery } from '../../../protocol/ranking/query.js';
import { type RankingWeights, weightsOf } from '../../../protocol/ranking/weights.js';
import type { Connection } from '../connection.js';
import { CosineReader } from './cosines.js';
import { tagExpression } from './filters.js';
import { foundByOf } from './found-by.js';
import {
  type Beside,
  Judge,
  type JudgedFeatures,
  type JudgedRow,
  NEIGHBOURS,
  type Read,
  type Scored,
} from './judge.js';
import { type Postings, PostingsReader, WIDENED_ROWS } from './postings.js';
import { type LoadedRow, RowReader } from './rows.js';
import { scopeOf } from './scope.js';
import { search } from './search.js';

/** Words that are read for one recall; later rows are not read unless filters left too few. */
const READ_WORDS_MAX = 60_000;
const READ_ROWS_MIN = 24;
const READ_ROWS_MAX = 160;
/** Hits of the vector index that are examined. */
const VECTOR_ROWS_MAX = 50;
/** So many more turns than are asked for have their neighbours read. */
const CONTEXT_ROWS = 20;
/** Prepared recalls that wait for their vectors; a dropped one is computed again when it is needed. */
const PREPARED_MAX = 32;
/** How often the list is read further when filters have left too few rows. */
const WIDENINGS_MAX = 6;

/**
 * Finds the memories that match a query, best first (interface §4.3). Synchronous, reads only, sees rows through the
 * visibility gate. Without `vectors` the mode is keyword.
 */
export function recall(
  database: Connection,
  request: RecallRequest,
  weights: RankingWeights = weightsOf(request.recency),
): RankedMemories {
  return new Recall(database, request, weights).run(request.vectors);
}

/** Recall and search over one connection, for the store's reader. */
export class RecallIndex {
  readonly #database: Connection;
  readonly #prepared = new Map<string, Recall>();

  constructor(database: Connection) {
    this.#database = database;
  }

  /** Does the part of a recall that needs no vectors, for a later `recall` with the same key and request. */
  prepare(key: string, request: RecallRequest): void {
    this.#prepared.set(key, new Recall(this.#database, request, weightsOf(request.recency)));
    const oldest = this.#prepared.keys().next();
    if (this.#prepared.size > PREPARED_MAX && oldest.done === false) this.#prepared.delete(oldest.value);
  }

  /** `key` continues a prepared recall; when that was dropped, everything is computed now. */
  recall(request: RecallRequest, key: string | null = null): RankedMemories {
    const prepared = key === null ? undefined : this.#prepared.get(key);
    if (key !== null) this.#prepared.delete(key);
    return (prepared ?? new Recall(this.#database, request, weightsOf(request.recency))).run(request.vectors);
  }

  /** Rids in order of relevance, paged by the filter's limit and offset. */
  search(query: SearchMemories): number[] {
    return search(this.#database, query);
  }
}

/** The rows of an answer as the fit of the weights reads them. */
export const judgedFeatures = (database: Connection, request: RecallRequest): readonly JudgedFeatures[] =>
  new Recall(database, request, weightsOf(request.recency)).features(request.vectors);

/** True for a text that ends with a question mark; what is quoted or noted behind it in brackets does not count. */
const isQuestion = (text: string): boolean =>
  /[?\uff1f\u061f]["'\u201d\u2019)\]\s]*(?:\[[^\]]*\]\s*)?$/u.test(text.slice(-400));

/** Sums of the same weights differ in their last digits. */
const ALL_WORDS = 1 - 1e-9;

/** Titles that differ in spaces, case or forms of width are the same. */
const sameTitleKey = (text: string): string =>
  text.normalize('NFKC').toLowerCase().trim().replace(/\s+/gu, ' ');

/** Log odds of a memory whose title is the query. */
const TITLED_ODDS = 3;

/** Of a row without a word of the query. */
const NO_WORDS: LexicalEvidence = {
  ...{ words: 0, covered: 0, terms: 0, near: 0, adjacent: 0, phrases: 0, together: 0, named: 0 },
};

class Recall {
  readonly #request: RecallRequest;
  readonly #rows: RowReader;
  readonly #database: Connection;
  #cosines: CosineReader | null = null;
  readonly #postings: Postings;
  readonly #reader: PostingsReader;
  readonly #scorer: LexicalScorer;
  readonly #analysis;
  readonly #readMax: number;
  /** Rows of the list that are read at once. */
  readonly #readFirst: number;
  /** The only rows with a word of the query, when they are few enough to know them all. */
  readonly #worded: ReadonlySet<number> | null;
  readonly #scored = new Map<number, Scored>();
  readonly #judge: Judge;
  readonly #beside = new Map<number, Beside>();
  /** Neighbours that were not read because they have no word of the query. */
  #wordless = 0;
  readonly #filtered: boolean;

  constructor(database: Connection, request: RecallRequest, weights: RankingWeights) {
    this.#database = database;
    this.#request = request;
    this.#filtered = isFiltered(request);
    const scope = scopeOf(database, request.namespace);
    this.#rows = new RowReader(database, scope, request);
    this.#analysis = analyseQuery(request.query);
    const byBudget = Math.floor(READ_WORDS_MAX / scope.averageWords);
    this.#readMax = Math.max(request.limit * 2, Math.min(READ_ROWS_MAX, Math.max(READ_ROWS_MIN, byBudget)));
    this.#reader = new PostingsReader(database, scope, tagExpression(request.tags));
    this.#postings =
      scope.namespaces?.length === 0
        ? {
            rids: [],
            strong: 0,
            idf: new Float64Array(this.#analysis.terms.length),
            telling: new Float64Array(this.#analysis.terms.length),
            rarest: 1,
            found: new Uint8Array(this.#analysis.terms.length),
            total: 0,
            incomplete: false,
            informative: false,
            all: true,
          }
        : this.#reader.read(this.#analysis.terms, this.#readMax, request.limit);
    this.#worded = this.#postings.all ? new Set(this.#postings.rids) : null;
    this.#scorer = new LexicalScorer(this.#analysis, this.#postings, scope.averageWords, weights);
    this.#judge = new Judge({
      ...{ analysis: this.#analysis, postings: this.#postings, scorer: this.#scorer, weights },
      rows: scope.rows,
      nowMs: Date.parse(request.now),
      recalled: new Set(request.recalled),
      today: (request.asOf ?? null) === null,
    });
    this.#load(this.#rows.titled(request.query.trim()));
    const strong = Math.max(request.limit * 2, READ_ROWS_MIN, this.#postings.strong);
    this.#readFirst = Math.min(this.#readMax, strong);
    this.#load(this.#postings.rids.slice(0, this.#readFirst));
  }

  run(vectors: VectorEvidence | null): RankedMemories {
    const hits = this.#examine(vectors);
    // Every row is judged; filters remove rows from the answer and never change its order.
    const judged = this.#judged();
    const passing = judged.filter(({ rid }) => this.#passes(rid)).slice(0, this.#request.limit);
    const cuts = this.#cutsOf(passing);
    const rows = passing.map(
      (row, at): RankedRow => ({
        rid: row.rid,
        score: likelihood(row.odds),
        foundBy: foundByOf(this.#scored.get(row.rid)?.evidence, row.deviations),
        cut: cuts[at]!,
      }),
    );
    const above = rows.filter(({ cut }) => cut !== 'below');
    return {
      rows: this.#request.below === true ? rows : above,
      mode: this.#cosines === null ? 'keyword' : 'hybrid',
      // Counts only rows that the viewer may see: other counts would reveal words in hidden rows.
      candidates: { fts: this.#usable(), vector: hits.filter(({ rid }) => this.#passes(rid)).length },
      confidenceFilteredOut: judged.filter(({ rid }) => this.#isUnsure(rid)).length,
      belowMinScore: rows.length - above.length,
      blendWeight: this.#cosines === null ? null : 1 - this.#judge.explained(this.#scored),
    };
  }

  /** How each row stands to the cut; the first rows of a doubtful answer that do not pass the default one are weak. */
  #cutsOf(rows: readonly JudgedRow[]): readonly RowCut[] {
    const { minScore = 0, cut } = this.#request;
    const answered = isAnswered(rows);
    const least = cut === 'default' ? leastWeakScore(likelihood(rows[0]?.odds ?? 0)) : null;
    return rows.map(({ odds, sort }, at): RowCut => {
      const score = likelihood(odds);
      if (score >= (cut === 'default' ? leastScore(sort, answered) : minScore)) return 'passes';
      return least !== null && at < WEAK_ROWS && score >= least ? 'weak' : 'below';
    });
  }

  /** What the fit of the weights reads. */
  features(vectors: VectorEvidence | null): readonly JudgedFeatures[] {
    this.#examine(vectors);
    const judged = this.#judged();
    const places = new Map(judged.map(({ rid }, place) => [rid, place]));
    const features = this.#judge.features(this.#read(this.#wordless));
    return features.toSorted((one, other) => places.get(one.rid)! - places.get(other.rid)!);
  }

  #read(unread: number): Read {
    return { scored: this.#scored, cosines: this.#cosines, beside: this.#beside, unread };
  }

  /** The likeliest first; a memory whose title is the query comes before all others. */
  #judged(): JudgedRow[] {
    const rows = this.#judge.judge(this.#read(this.#wordless));
    const query = sameTitleKey(this.#request.query);
    // Such a row has all words of the query.
    const asked = this.#postings.idf.reduce((sum, weight) => sum + weight, 0) * ALL_WORDS;
    const isTitled = ({ rid }: JudgedRow) => {
      const { row, evidence } = this.#scored.get(rid) ?? {};
      return (evidence?.covered ?? 0) >= asked && sameTitleKey(row?.title ?? '') === query;
    };
    const titled = rows.filter(isTitled);
    if (titled.length === 0) return rows;
    const least = Math.max(TITLED_ODDS, rows[0]!.odds);
    const first = titled.map((row) => ({ ...row, odds: Math.max(least, row.odds) }));
    return [...first, ...rows.filter((row) => !isTitled(row))];
  }

  /** Loads and scores the rows that may answer; the answer is the hits of the vector index. */
  #examine(vectors: VectorEvidence | null): VectorEvidence['hits'] {
    this.#cosines = vectors === null ? null : new CosineReader(this.#database, vectors);
    const hits = vectors?.hits.slice(0, VECTOR_ROWS_MAX) ?? [];
    this.#load(hits.map((hit) => hit.rid));
    this.#widen();
    if (vectors !== null) this.#widenByMeaning(vectors);
    this.#cosines?.read([...this.#scored.keys()]);
    if (this.#informative()) this.#readContext();
    return hits;
  }

  /** Reads and scores rows that are not loaded yet. */
  #load(rids: readonly number[], passing = false): void {
    const missing = rids.filter((rid) => !this.#scored.has(rid));
    if (missing.length === 0) return;
    const worded = this.#worded === null ? missing : missing.filter((rid) => this.#worded!.has(rid));
    for (const row of this.#rows.load(worded, { passing })) {
      const evidence = this.#scorer.score(row.title, row.content, row.tags);
      this.#scored.set(row.rid, { row, evidence, asks: isQuestion(row.content) });
    }
    if (worded.length === missing.length) return;
    const others = missing.filter((rid) => !this.#worded?.has(rid));
    for (const row of this.#rows.load(others, { passing, content: false })) {
      this.#scored.set(row.rid, { row, evidence: NO_WORDS, asks: false });
    }
  }

  #passes(rid: number): boolean {
    const row = this.#scored.get(rid)?.row;
    return row?.passes === true && this.#isSure(row);
  }

  /** True when the row passes the confidence filter, if there is one. */
  #isSure({ confidence }: LoadedRow): boolean {
    const tier = this.#request.confidence ?? null;
    return tier === null || confidenceTierOf(confidence) === tier;
  }

  /** True when only the confidence filter removes the row. */
  #isUnsure(rid: number): boolean {
    const row = this.#scored.get(rid)?.row;
    return row?.passes === true && !this.#isSure(row);
  }

  /** Rows with a word of the query that pass the filters. */
  #usable(): number {
    let usable = 0;
    for (const { row, evidence } of this.#scored.values()) {
      if (row.passes && evidence.words > 0 && this.#isSure(row)) usable += 1;
    }
    return usable;
  }

  /**
   * When the rows read so far leave too few to show: reads further, then applies gate and filters inside the query over
   * the index, then over the rows themselves. Each step is bounded.
   */
  #widen(): void {
    if (this.#analysis.terms.length === 0) return;
    const { limit } = this.#request;
    let from = this.#readFirst;
    for (let step = 0; step < WIDENINGS_MAX && this.#usable() < limit; step++) {
      if (from >= this.#postings.rids.length) break;
      const until = from + this.#readMax * 2 ** (step + 1);
      this.#load(this.#postings.rids.slice(from, until), this.#filtered);
      from = until;
    }
    const complete = !this.#postings.incomplete && from >= this.#postings.rids.length;
    if (complete || this.#usable() >= limit) return;
    const expression = this.#reader.expressionOfAny(this.#analysis.terms);
    this.#load(this.#rows.matching(expression, this.#readMax));
    const exhausted = this.#postings.total <= WIDENED_ROWS;
    if (!exhausted && this.#usable() < limit) this.#load(this.#rows.scan(this.#readMax * 4));
  }

  /**
   * The vector index examines its nearest rows to find those that pass. When those are too rare, this reads passing
   * rows in another order, with their vectors.
   */
  #widenByMeaning({ hits, scanned }: VectorEvidence): void {
    if (!this.#filtered || hits.length >= this.#request.limit || scanned <= VECTOR_CANDIDATES_MAX) return;
    this.#load(this.#rows.scan(this.#readMax * 4), true);
  }

  /** True when any word of the query distinguishes one row from another; otherwise neighbours do not help either. */
  #informative(): boolean {
    return this.#cosines !== null || this.#postings.informative;
  }

  /** Reads the neighbours of the likeliest turns so far. */
  #readContext(): void {
    const after = new Map<number, number>();
    const before = new Map<number, number>();
    for (const chain of this.#rows.chains(this.#likelyTurns(), NEIGHBOURS)) {
      for (let at = 1; at < chain.length; at++) {
        after.set(chain[at - 1]!, chain[at]!);
        before.set(chain[at]!, chain[at - 1]!);
      }
    }
    const around = new Set([...after.keys(), ...before.keys()]);
    for (const rid of around) {
      this.#beside.set(rid, { before: along(before, rid), after: along(after, rid) });
    }
    const others = [...around].filter((rid) => !this.#scored.has(rid));
    // A neighbour without a word of the query tells nothing by its text; its vector may tell something.
    const telling =
      this.#cosines === null && this.#worded !== null
        ? others.filter((rid) => this.#worded!.has(rid))
        : others;
    this.#wordless = others.length - telling.length;
    this.#load(telling);
    this.#cosines?.read([...this.#scored.keys()]);
  }

  #likelyTurns(): number[] {
    const isTurn = (rid: number) => this.#scored.get(rid)!.row.spoken;
    if (![...this.#scored.keys()].some(isTurn)) return [];
    const judged = this.#judge.judge(this.#read(0));
    const turns = judged.filter(({ sort }) => sort === 'turn').map(({ rid }) => rid);
    return turns.slice(0, this.#request.limit + CONTEXT_ROWS);
  }
}

/** The next turns in one direction, the nearest first. */
function along(next: ReadonlyMap<number, number>, rid: number): number[] {
  const found: number[] = [];
  for (let at = next.get(rid); at !== undefined && found.length < NEIGHBOURS; at = next.get(at))
    found.push(at);
  return found;
}

/** True when a memory that stands for itself passes the default cut. */
const isAnswered = (rows: readonly JudgedRow[]): boolean =>
  rows.some(({ sort, odds }) => sort === 'note' && likelihood(odds) >= RECALL_MIN_SCORE);
