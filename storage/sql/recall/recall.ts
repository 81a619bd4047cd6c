import { VECTOR_CANDIDATES_MAX } from '../../../protocol/base/limits.js';
import { confidenceTierOf } from '../../../protocol/memory/confidence.js';
import type { RankedMemories, SearchMemories } from '../../../protocol/memory/queries.js';
import { isFiltered } from '../../../protocol/memory/recall-filter.js';
import type { RankedRow, RecallRequest, VectorEvidence } from '../../../protocol/memory/recall-request.js';
import {
  type Candidate,
  type FusedRow,
  fuse,
  reorderFirst,
  semanticWeight,
} from '../../../protocol/ranking/fusion.js';
import { type LexicalEvidence, LexicalScorer, PairWeights } from '../../../protocol/ranking/lexical.js';
import {
  type AnswerEvidence,
  JUDGED_ROWS,
  likelihood,
  logOdds,
  rowScore,
  WEAK_ROWS,
} from '../../../protocol/ranking/likelihood.js';
import { analyseQuery } from '../../../protocol/ranking/query.js';
import { type RankingWeights, weightsOf } from '../../../protocol/ranking/weights.js';
import type { Connection } from '../connection.js';
import { CosineReader } from './cosines.js';
import { tagExpression } from './filters.js';
import { foundByOf } from './found-by.js';
import { heldFirst } from './held-first.js';
import { type Postings, PostingsReader, WIDENED_ROWS } from './postings.js';
import { type LoadedRow, RowReader } from './rows.js';
import { type Scope, scopeOf } from './scope.js';
import { search } from './search.js';

/** Words that are read for one recall; later rows are not read unless filters left too few. */
const READ_WORDS_MAX = 60_000;
const READ_ROWS_MIN = 24;
const READ_ROWS_MAX = 160;
/** Hits of the vector index that are examined. */
const VECTOR_ROWS_MAX = 50;
/** Rows whose neighbours are read, beside as many as are asked for. */
const CONTEXT_ROWS = 8;
/** Prepared recalls that wait for their vectors; a dropped one is computed again when it is needed. */
const PREPARED_MAX = 32;
/** How often the list is read further when filters have left too few rows. */
const WIDENINGS_MAX = 6;

interface Scored {
  readonly row: LoadedRow;
  readonly evidence: LexicalEvidence;
  /** True when the row ends with a question. */
  readonly asks: boolean;
}

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

/** An answer as the fit of the score reads it. */
export interface JudgedAnswer {
  readonly evidence: AnswerEvidence;
  readonly rows: readonly FusedRow[];
}

export const judgedAnswer = (database: Connection, request: RecallRequest): JudgedAnswer =>
  new Recall(database, request, weightsOf(request.recency)).judged(request.vectors);

/** The rows that an answer is judged by: its first ones before filters. */
function judgedOf(candidates: readonly Candidate[], ranked: readonly FusedRow[]): Candidate[] {
  const first = new Set(ranked.slice(0, JUDGED_ROWS).map(({ rid }) => rid));
  return candidates.filter(({ rid }) => first.has(rid));
}

/** True for a text that ends with a question mark; what is quoted or noted behind it in brackets does not count. */
const isQuestion = (text: string): boolean =>
  /[?\uff1f\u061f]["'\u201d\u2019)\]\s]*(?:\[[^\]]*\]\s*)?$/u.test(text.slice(-400));

/** Sums of the same weights differ in their last digits. */
const ALL_WORDS = 1 - 1e-9;

/** Titles that differ in spaces, case or forms of width are the same. */
const sameTitleKey = (text: string): string =>
  text.normalize('NFKC').toLowerCase().trim().replace(/\s+/gu, ' ');

/** Of a row without a word of the query. */
const NO_WORDS: LexicalEvidence = {
  words: 0,
  covered: 0,
  terms: 0,
  near: 0,
  adjacent: 0,
  phrases: 0,
  together: 0,
};

class Recall {
  readonly #request: RecallRequest;
  readonly #weights: RankingWeights;
  readonly #scope: Scope;
  readonly #rows: RowReader;
  readonly #database: Connection;
  #cosines: CosineReader | null = null;
  readonly #postings: Postings;
  readonly #reader: PostingsReader;
  readonly #scorer: LexicalScorer;
  readonly #analysis;
  readonly #readMax: number;
  /** The only rows with a word of the query, when they are few enough to know them all. */
  readonly #worded: ReadonlySet<number> | null;
  readonly #scored = new Map<number, Scored>();
  readonly #next = new Map<number, number>();
  readonly #previous = new Map<number, number>();
  /** Neighbours that were not read because they have no word of the query. */
  #wordless = 0;
  readonly #filtered: boolean;
  readonly #recalled: ReadonlySet<number>;

  constructor(database: Connection, request: RecallRequest, weights: RankingWeights) {
    this.#database = database;
    this.#request = request;
    this.#weights = weights;
    this.#filtered = isFiltered(request);
    this.#recalled = new Set(request.recalled);
    const scope = scopeOf(database, request.namespace);
    this.#scope = scope;
    this.#rows = new RowReader(database, scope, request);
    this.#analysis = analyseQuery(request.query);
    const byBudget = Math.floor(READ_WORDS_MAX / scope.averageWords);
    this.#readMax = Math.max(request.limit * 2, Math.min(READ_ROWS_MAX, Math.max(READ_ROWS_MIN, byBudget)));
    this.#reader = new PostingsReader(database, scope, tagExpression(request.tags));
    this.#postings =
      scope.namespaces?.length === 0
        ? {
            rids: [],
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
    this.#load(this.#rows.titled(request.query.trim()));
    this.#load(this.#postings.rids.slice(0, this.#readMax));
  }

  run(vectors: VectorEvidence | null): RankedMemories {
    const hits = this.#examine(vectors);
    // The ranking covers all rows; filters remove rows from it and never change their order.
    const candidates = this.#candidates();
    const strength = this.#strength();
    const ranked = this.#ranked(candidates, strength);
    const likely = likelihood(this.#evidence(judgedOf(candidates, ranked)));
    const { asOf = null, limit } = this.#request;
    const fitting = ranked.filter(({ rid }) => this.#passes(rid));
    const passing = heldFirst(fitting, asOf, (rid) => this.#scored.get(rid)!.row).slice(0, limit);
    const means = new Map(candidates.map(({ rid, semantic }) => [rid, semantic]));
    const rows = this.#kept(
      passing.map(({ rid, share }): RankedRow => {
        const foundBy = foundByOf(this.#scored.get(rid)?.evidence, means.get(rid));
        return { rid, score: rowScore(likely, share), share, foundBy };
      }),
    );
    return {
      rows,
      mode: this.#cosines === null ? 'keyword' : 'hybrid',
      // Counts only rows that the viewer may see: other counts would reveal words in hidden rows.
      candidates: { fts: this.#usable(), vector: hits.filter(({ rid }) => this.#passes(rid)).length },
      confidenceFilteredOut: candidates.filter(({ rid }) => this.#isUnsure(rid)).length,
      belowMinScore: passing.length - rows.length,
      blendWeight: this.#cosines === null ? null : semanticWeight(strength, this.#weights),
    };
  }

  /** The rows that pass the cut, or the best ones near it. */
  #kept(rows: readonly RankedRow[]): readonly RankedRow[] {
    const { minScore = 0, weakScore = minScore } = this.#request;
    const kept = rows.filter(({ score }) => score >= minScore);
    return kept.length > 0 ? kept : rows.slice(0, WEAK_ROWS).filter(({ score }) => score >= weakScore);
  }

  /** What the fit of the score reads: the evidence of the answer, and its rows. */
  judged(vectors: VectorEvidence | null): JudgedAnswer {
    this.#examine(vectors);
    const candidates = this.#candidates();
    const ranked = this.#ranked(candidates, this.#strength());
    const rows = ranked.filter(({ rid }) => this.#passes(rid)).slice(0, this.#request.limit);
    return { evidence: this.#evidence(judgedOf(candidates, ranked)), rows };
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
    let from = this.#readMax;
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

  /** How much of the query the words of all rows explain, by weight, 0 to 1. */
  #strength(): number {
    const { idf, found } = this.#postings;
    let asked = 0;
    idf.forEach((weight, term) => {
      asked += found[term] === 1 ? weight : weight * this.#weights.unknownWord;
    });
    let covered = 0;
    for (const { evidence } of this.#scored.values()) covered = Math.max(covered, evidence.covered);
    return asked > 0 ? covered / asked : 0;
  }

  /** Reads the neighbours of the best rows so far. */
  #readContext(): void {
    const distance = this.#weights.context.length;
    const around = new Set<number>();
    for (const chain of this.#rows.chains(this.#contextRows(), distance)) {
      for (let index = 1; index < chain.length; index++) {
        this.#next.set(chain[index - 1] ?? 0, chain[index] ?? 0);
        this.#previous.set(chain[index] ?? 0, chain[index - 1] ?? 0);
      }
      for (const rid of chain) around.add(rid);
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

  /** The best rows so far, also those that do not pass: all scores are relative to the best row. */
  #contextRows(): number[] {
    const rows = this.#request.limit + CONTEXT_ROWS;
    if (this.#scored.size <= rows) return [...this.#scored.keys()];
    const preliminary = fuse(this.#candidates(), this.#strength(), this.#weights).map(({ rid }) => rid);
    const shown = preliminary.filter((rid) => this.#passes(rid)).slice(0, rows);
    return [...new Set([...preliminary.slice(0, rows), ...shown])];
  }

  #candidates(): Candidate[] {
    const nowMs = Date.parse(this.#request.now);
    const candidates: Candidate[] = [];
    const scored = [...this.#scored.values()];
    const pairs = new PairWeights(
      scored.map(({ evidence }) => evidence),
      scored.length + this.#wordless,
      this.#weights,
    );
    const lexicalOf = new Map(scored.map(({ row, evidence }) => [row.rid, pairs.score(evidence)]));
    for (const { row, asks } of scored) {
      const share = asks ? 1 - this.#weights.question : 1;
      const lexical = share * (lexicalOf.get(row.rid) ?? 0);
      const context = this.#contextOf(row.rid, lexicalOf);
      const semantic = this.#cosines?.deviations(row.rid) ?? null;
      // A row without a word of the query needs its own vector; its neighbours are not enough.
      if (lexical === 0 && semantic === null) continue;
      candidates.push({
        rid: row.rid,
        lexical,
        lexicalContext: share * context.lexical,
        semantic,
        semanticContext: context.semantic,
        tier: row.tier,
        priority: row.priority,
        confidence: row.confidence,
        ageDays: Math.max(0, (nowMs - Date.parse(row.createdAt)) / 86_400_000),
        recalled: this.#recalled.has(row.rid),
      });
    }
    return candidates;
  }

  /** Best first; a row whose title is the query comes before all others. */
  #ranked(candidates: readonly Candidate[], strength: number): FusedRow[] {
    const rows = this.#byEvidence(candidates, strength);
    const query = sameTitleKey(this.#request.query);
    // Such a row has all words of the query.
    const asked = this.#postings.idf.reduce((sum, weight) => sum + weight, 0) * ALL_WORDS;
    const isTitled = ({ rid }: FusedRow) => {
      const { row, evidence } = this.#scored.get(rid) ?? {};
      return (evidence?.covered ?? 0) >= asked && sameTitleKey(row?.title ?? '') === query;
    };
    const titled = rows.filter(isTitled);
    if (titled.length === 0) return rows;
    const ordered = [...titled, ...rows.filter((row) => !isTitled(row))];
    // Scores belong to the places.
    return rows.map((row, place) => ({ ...row, rid: ordered[place]!.rid }));
  }

  /** Only vectors tell more about one row than the fusion has used; an answer by words only keeps its order. */
  #byEvidence(candidates: readonly Candidate[], strength: number): FusedRow[] {
    const fused = fuse(candidates, strength, this.#weights);
    if (this.#cosines === null) return fused;
    return reorderFirst(fused, strength, this.#weights, (rid) => {
      const evidence = this.#evidence(candidates.filter((candidate) => candidate.rid === rid));
      // A row without a vector is weighed like one of average meaning.
      return logOdds({ ...evidence, standing: evidence.standing ?? 0 });
    });
  }

  /** What speaks for an answer of these rows. */
  #evidence(rows: readonly Candidate[]): AnswerEvidence {
    const { telling, found, rarest } = this.#postings;
    let asked = 0;
    let unknown = 0;
    let unknownNames = 0;
    telling.forEach((weight, term) => {
      asked += weight;
      if (found[term] === 1) return;
      unknown += weight;
      if (this.#analysis.terms[term]?.name === true) unknownNames += weight;
    });
    const share = asked > 0 ? 1 / asked : 0;
    let [together, lexical, context] = [0, 0, 0];
    for (const row of rows) {
      together = Math.max(together, this.#scored.get(row.rid)?.evidence.together ?? 0);
      lexical = Math.max(lexical, row.lexical);
      context = Math.max(context, row.lexicalContext);
    }
    return {
      together: together * share,
      words: together / rarest,
      lexical: lexical * share,
      context: context * share,
      unknown: unknown * share,
      unknownNames: unknownNames * share,
      standing: this.#standing(rows),
    };
  }

  /** That of the nearest row. */
  #standing(rows: readonly Candidate[]): number | null {
    let highest: number | null = null;
    for (const { rid } of rows) {
      const one = this.#cosines?.standing(rid) ?? null;
      if (one !== null && (highest === null || one > highest)) highest = one;
    }
    return highest;
  }

  /** How much of what a neighbour has of the query the row has too, by weight, 0 to 1. */
  #repeated(rid: number, neighbour: number): number {
    const own = this.#scored.get(rid)?.evidence.terms ?? 0;
    const other = this.#scored.get(neighbour)?.evidence.terms ?? 0;
    const all = this.#scorer.weightOf(other);
    return all > 0 ? this.#scorer.weightOf(own & other) / all : 0;
  }

  #contextOf(
    rid: number,
    lexicalOf: ReadonlyMap<number, number>,
  ): { lexical: number; semantic: number | null } {
    let lexical = 0;
    let semantic = 0;
    let share = 0;
    const words = this.#scope.averageWords;
    const worth = this.#weights.contextWords / (this.#weights.contextWords + words);
    for (const step of [this.#next, this.#previous]) {
      let at = rid;
      for (const weight of this.#weights.context) {
        const found = step.get(at);
        if (found === undefined) break;
        const isAnswer = step === this.#previous && at === rid && this.#scored.get(found)?.asks === true;
        at = found;
        const fresh = 1 - this.#weights.repeated * this.#repeated(rid, at);
        lexical += worth * fresh * (isAnswer ? this.#weights.answer : weight) * (lexicalOf.get(at) ?? 0);
        const deviations = this.#cosines?.deviations(at) ?? null;
        if (deviations === null) continue;
        semantic += weight * deviations;
        share += weight;
      }
    }
    return { lexical, semantic: share === 0 ? null : (worth * semantic) / share };
  }
}
