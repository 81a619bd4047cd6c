import { SUBTREE_TERMS_MAX } from '../../../protocol/base/limits.js';
import { inverseFrequency } from '../../../protocol/ranking/lexical.js';
import { type QueryTerm, termExpression, wordExpression } from '../../../protocol/ranking/query.js';
import { quoted } from '../../../protocol/ranking/quoted.js';
import { isHead } from '../../../protocol/ranking/text-match.js';
import type { Connection } from '../connection.js';
import { newestRid, type Scope } from './scope.js';
import { statement } from './statements.js';

/** A word in more rows than this is common: its rows are not all listed. */
const LISTED_ROWS_MAX = 1_200;
/** Rows that are listed for all words together. The rarest word comes first and is always listed. */
const LISTED_TOGETHER_MAX = 2_000;
/** A word in fewer rows than this is looked up without the scope; its rows are then filtered by namespace. */
const RARE_ROWS = 32;
/** Rows that are used to estimate the frequency of a word. */
const PROBED_ROWS = 128;
/** Rows that are listed for a query of only common words, newest first. */
const COMMON_ROWS = 200;
/** For each row that is asked for, when the words are in nearly every row, so they do not distinguish rows. */
const UNINFORMATIVE_SHARE = 2;
/** The newest rows of a scope that are searched for all common words together. */
const COMMON_WINDOW_ROWS = 5_000;
/** Rows of the most telling common word; those with most of the other words are chosen from them. */
const COMMON_LISTED_ROWS = 600;
/** Common words that are searched for together; more of them are hardly ever in one row. */
const COMMON_TOGETHER_MAX = 3;
/** Below this sum of word weights a query of common words is uninformative. */
const INFORMATIVE_MIN = 0.5;
/** A word in this share of the rows counts as everywhere: the newest rows have it, and a search costs more. */
const EVERYWHERE = 0.9;
/** Rows that are listed when filters have removed too many. */
export const WIDENED_ROWS = 50_000;
const FREQUENCIES_MAX = 50_000;
/** In fewer rows than this the frequency of a word says little about it. */
const TELLING_ROWS_MIN = 100;

const LISTING = 'SELECT rowid FROM memories_fts WHERE memories_fts MATCH ? ORDER BY rowid DESC LIMIT ?';
const LISTING_SINCE =
  'SELECT rowid FROM memories_fts WHERE memories_fts MATCH ? AND rowid >= ? ORDER BY rowid DESC LIMIT ?';

interface Frequency {
  readonly rows: number;
  /** Rows of the scope when the word was counted. */
  readonly of: number;
}

/** A word of the query in a scope. */
interface Word {
  /** Of the term. */
  readonly index: number;
  readonly expression: string;
  /** Rows with the word; an estimate when they are not listed. */
  readonly rows: number;
  /** All of these rows, for a rare word. */
  readonly rids: readonly number[] | null;
  /** True when no other row has the word, nor one that begins with it. */
  readonly all: boolean;
}

const frequencies = new WeakMap<Connection, Map<string, Frequency>>();

/** What the full-text index says about a query. */
export interface Postings {
  /** Rows with a word of the query: the most telling words first, then the newest rows first. */
  readonly rids: readonly number[];
  /** How many of them have words of at least `STRONG_SHARE` of the weight of the first one's. */
  readonly strong: number;
  /** The weight of each term. */
  readonly idf: Float64Array;
  /** The weight of each term as evidence: that of a scope of at least `TELLING_ROWS_MIN` rows. */
  readonly telling: Float64Array;
  /** The telling weight of a word in one row. */
  readonly rarest: number;
  /** 1 for each term that is in any row. */
  readonly found: Uint8Array;
  /** Sum over all words of their rows; an estimate for common words. */
  readonly total: number;
  /** True when rows with a word of the query are not listed. */
  readonly incomplete: boolean;
  /** True when any word distinguishes one row from another. */
  readonly informative: boolean;
  /** True when no row of the scope has a word of the query, or of its beginnings, except the listed ones. */
  readonly all: boolean;
}

/**
 * Words that begin with a term, as an expression: `datenschutz` finds `Datenschutzbeauftragte`; null for a term that is
 * too short for it. The index reads all rows of all such words, so it is asked only for terms in few rows.
 */
export const headExpression = (term: QueryTerm): string | null =>
  isHead(term) ? `${wordExpression(term.word)} *` : null;

/**
 * The expression that every row of a scope matches; null for everything, and for a subtree of very many namespaces. The term also matches a text that contains
 * `n12`: rows are checked against the scope when they are loaded, and a column filter here costs about a tenth more.
 */
export function scopeExpression(scope: Scope): string | null {
  if (scope.namespaces === null || scope.namespaces.length > SUBTREE_TERMS_MAX) return null;
  const terms = scope.namespaces.map((id) => quoted(`n${id}`));
  return terms.length === 1 ? (terms[0] ?? null) : `(${terms.join(' OR ')})`;
}

/** An expression that matches the rows matched by all parts; a null part matches everything. */
export const allOf = (...parts: readonly (string | null)[]): string =>
  parts.filter((part) => part !== null).join(' AND ');

/** Reads the full-text index for one query in one scope. */
export class PostingsReader {
  readonly #database: Connection;
  readonly #scope: Scope;
  readonly #restriction: string | null;
  readonly #within: string | null;
  /** Null if namespaces alone do not define the scope. */
  readonly #namespaces: readonly number[] | null;
  readonly #cacheKey: string;
  readonly #cache: Map<string, Frequency>;

  /** `restriction` narrows the scope by another expression (`tagExpression`). */
  constructor(database: Connection, scope: Scope, restriction: string | null) {
    this.#database = database;
    this.#scope = scope;
    this.#restriction = restriction;
    const scoped = scopeExpression(scope);
    this.#within = scoped === null && restriction === null ? null : allOf(scoped, restriction);
    this.#namespaces = scoped === null || restriction !== null ? null : scope.namespaces;
    this.#cacheKey = `${scope.key}\n${restriction ?? ''}\n`;
    let cache = frequencies.get(database);
    if (cache === undefined) {
      cache = new Map();
      frequencies.set(database, cache);
    }
    this.#cache = cache;
  }

  #list(expression: string, limit: number): number[] {
    return statement(this.#database, LISTING, 'pluck').all(expression, limit) as number[];
  }

  /** The full-text index accepts a bound on rows only as a 64-bit integer. */
  #listSince(expression: string, oldest: number, limit: number): number[] {
    const listing = statement(this.#database, LISTING_SINCE, 'pluck');
    return listing.all(expression, BigInt(oldest), limit) as number[];
  }

  #knownFrequency(word: string): number | undefined {
    const known = this.#cache.get(this.#cacheKey + word);
    if (known === undefined || this.#scope.rows > known.of * 1.25 + 16) return undefined;
    return known.rows;
  }

  /** Estimates how many rows have a word from the density of its newest rows. */
  #estimate(word: string, listed: readonly number[]): number {
    const newest = listed[0] ?? 0;
    const oldest = listed[listed.length - 1] ?? 0;
    const guess = (listed.length * newest) / Math.max(1, newest - oldest);
    const rows = Math.min(this.#scope.rows, Math.max(listed.length, Math.round(guess)));
    this.#remember(this.#cacheKey + word, { rows, of: this.#scope.rows });
    return rows;
  }

  #remember(key: string, frequency: Frequency): void {
    if (this.#cache.size >= FREQUENCIES_MAX) this.#cache.clear();
    this.#cache.set(key, frequency);
  }

  /** Counts the rows of each word, exactly for rare words, which it also lists. */
  #probe(terms: readonly QueryTerm[]): Word[] {
    const words = terms.map((term, index) => {
      const expression = termExpression(term);
      const key = `${term.form} ${term.word}`;
      const common = (rows: number): Word => ({ index, expression, rows, rids: null, all: false });
      const known = this.#knownFrequency(key);
      if (known !== undefined) return { common: common(known), own: [], longer: [] };
      const own = this.#rowsOf(expression);
      if (own.length >= PROBED_ROWS) return { common: common(this.#estimate(key, own)), own: [], longer: [] };
      const head = headExpression(term);
      return { common: null, index, expression, own, longer: head === null ? [] : this.#rowsOf(head) };
    });
    const isInScope = this.#scoped(words.flatMap(({ own, longer }) => [...own, ...longer]));
    return words.map((word): Word => {
      if (word.common !== null) return word.common;
      const own = word.own.filter(isInScope);
      const longer = word.longer.filter(isInScope);
      return {
        index: word.index,
        expression: word.expression,
        // A word that stands for itself somewhere is as telling as its own rows are few.
        rows: own.length > 0 ? own.length : longer.length,
        rids: longer.length > 0 ? [...new Set([...own, ...longer])] : own,
        all: word.longer.length < PROBED_ROWS,
      };
    });
  }

  /**
   * At most `PROBED_ROWS` rows of the scope; all rows of a word that is rare everywhere. The index finds such a word much
   * faster without the scope.
   */
  #rowsOf(expression: string): number[] {
    const everywhere = `\n${expression}`;
    if (this.#namespaces !== null && !this.#cache.has(everywhere)) {
      const rids = this.#list(expression, RARE_ROWS);
      if (rids.length < RARE_ROWS) return rids;
      this.#remember(everywhere, { rows: rids.length, of: 0 });
    }
    return this.#list(allOf(this.#within, expression), PROBED_ROWS);
  }

  /** A test of whether a row is in the scope. */
  #scoped(rids: readonly number[]): (rid: number) => boolean {
    if (this.#namespaces === null) return () => true;
    if (rids.length === 0) return () => false;
    const sql = `SELECT memory.rid FROM json_each(?) AS listed CROSS JOIN memories AS memory ON memory.rid = CAST(listed.value AS INTEGER)
      WHERE memory.ns_id IN (SELECT CAST(value AS INTEGER) FROM json_each(?))`;
    const listed = statement(this.#database, sql, 'pluck');
    const found = new Set(listed.all(JSON.stringify(rids), JSON.stringify(this.#namespaces)) as number[]);
    return (rid) => found.has(rid);
  }

  /** Lists the rows that may match a query; `requested` is how many the caller can examine, `limit` how many it wants. */
  read(terms: readonly QueryTerm[], requested: number, limit: number): Postings {
    const rows = Math.max(1, this.#scope.rows);
    const words = this.#probe(terms);
    const idf = new Float64Array(terms.length);
    const telling = new Float64Array(terms.length);
    const found = new Uint8Array(terms.length);
    const known = Math.max(rows, TELLING_ROWS_MIN);
    const rarest = inverseFrequency(known, 1);
    for (const word of words) {
      const share = terms[word.index]?.share ?? 1;
      idf[word.index] = inverseFrequency(rows, word.rows) * share;
      telling[word.index] = inverseFrequency(known, word.rows) * share;
      found[word.index] = word.rows > 0 ? 1 : 0;
    }
    const ascending = words.filter((word) => word.rows > 0).sort((left, right) => left.rows - right.rows);
    const total = words.reduce((sum, word) => sum + word.rows, 0);
    const masks = new Map<number, number>();
    const listed: Word[] = [];
    const common: Word[] = [];
    let together = 0;
    for (const word of ascending) {
      const affordable = listed.length === 0 || together + word.rows <= LISTED_TOGETHER_MAX;
      if (word.rids === null && (word.rows > LISTED_ROWS_MAX || !affordable)) {
        common.push(word);
        continue;
      }
      const rids = word.rids ?? this.#list(allOf(this.#within, word.expression), LISTED_ROWS_MAX * 2);
      add(masks, rids, word.index);
      listed.push(word);
      together += rids.length;
    }
    const informative = ascending.reduce((sum, word) => sum + (idf[word.index] ?? 0), 0) >= INFORMATIVE_MIN;
    if (listed.length === 0) {
      const rids = informative
        ? this.#commonRows(common, idf, requested)
        : this.#anyRows(common, Math.min(requested, limit * UNINFORMATIVE_SHARE));
      return {
        rids,
        strong: rids.length,
        idf,
        telling,
        rarest,
        found,
        total,
        incomplete: common.length > 0,
        informative,
        all: false,
      };
    }
    const ordered = byWeight(masks, idf);
    return {
      rids: ordered.rids,
      strong: informative ? ordered.strong : limit * UNINFORMATIVE_SHARE,
      idf,
      telling,
      rarest,
      found,
      total,
      incomplete: common.length > 0,
      informative: true,
      all: this.#restriction === null && words.every((word) => word.all),
    };
  }

  /** Rows for common words that distinguish rows: newest rows with all of them, then rows with most of them. */
  #commonRows(common: readonly Word[], idf: Float64Array, requested: number): number[] {
    const limit = Math.min(requested, COMMON_ROWS);
    const telling = common.slice(0, COMMON_TOGETHER_MAX);
    const all = allOf(this.#within, ...telling.map((word) => word.expression));
    const newest = newestRid(this.#database);
    const window = Math.ceil((COMMON_WINDOW_ROWS * newest) / Math.max(1, this.#scope.rows));
    const found = this.#listSince(all, Math.max(1, newest - window), limit);
    if (found.length >= limit || common.length === 0) return found;
    const [first, ...others] = common;
    const masks = new Map<number, number>();
    const rids = this.#list(allOf(this.#within, first?.expression ?? null), COMMON_LISTED_ROWS);
    add(masks, rids, first?.index ?? 0);
    for (const word of others) {
      const oldest = rids[rids.length - 1] ?? 1;
      const expression = allOf(this.#within, word.expression);
      add(masks, this.#listSince(expression, oldest, COMMON_LISTED_ROWS), word.index);
    }
    for (const word of telling) add(masks, found, word.index);
    return byWeight(masks, idf).rids;
  }

  /** Rows for words that are in nearly every row: the newest. */
  #anyRows(common: readonly Word[], limit: number): number[] {
    const rarest = common[0];
    if (rarest === undefined) return [];
    const everywhere = this.#restriction === null && rarest.rows >= this.#scope.rows * EVERYWHERE;
    if (!everywhere) return this.#list(allOf(this.#within, rarest.expression), limit);
    if (this.#within !== null) return this.#list(this.#within, limit);
    return statement(this.#database, 'SELECT rid FROM memories ORDER BY rid DESC LIMIT ?', 'pluck').all(
      limit,
    ) as number[];
  }

  /** The newest rows with any word of the query, for use when filters have left too few. */
  expressionOfAny(terms: readonly QueryTerm[]): string {
    const any = terms.map(termExpression).join(' OR ');
    return allOf(this.#within, `(${any})`);
  }
}

/** Rows with less than this share of the weight of the first row's words hardly ever answer. */
const STRONG_SHARE = 0.4;

/** Only this many terms are distinguished when rows are listed; 30 bits fit a small integer. */
const MASK_BITS = 30;

function add(masks: Map<number, number>, rids: readonly number[], term: number): void {
  const bit = 1 << (term % MASK_BITS);
  for (const rid of rids) masks.set(rid, (masks.get(rid) ?? 0) | bit);
}

/**
 * Orders rows by the sum of the weights of their words; there are few distinct sums, so it does not sort single rows.
 */
function byWeight(
  masks: ReadonlyMap<number, number>,
  idf: Float64Array,
): { readonly rids: number[]; readonly strong: number } {
  const groups = new Map<number, number[]>();
  for (const [rid, mask] of masks) {
    const group = groups.get(mask);
    if (group === undefined) groups.set(mask, [rid]);
    else group.push(rid);
  }
  const weightOf = (mask: number): number => {
    let weight = 0;
    for (let term = 0; term < idf.length; term++) {
      if ((mask & (1 << (term % MASK_BITS))) !== 0) weight += idf[term] ?? 0;
    }
    return weight;
  };
  const ordered = [...groups].map(([mask, rids]) => ({ weight: weightOf(mask), rids }));
  ordered.sort((left, right) => right.weight - left.weight);
  const least = (ordered[0]?.weight ?? 0) * STRONG_SHARE;
  return {
    rids: ordered.flatMap(({ rids }) => rids.sort((left, right) => right - left)),
    strong: ordered.reduce((sum, { weight, rids }) => (weight >= least ? sum + rids.length : sum), 0),
  };
}
