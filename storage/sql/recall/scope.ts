import { subtreeRoot } from '../../../protocol/base/ids.js';
import { TextMatcher } from '../../../protocol/ranking/text-match.js';
import type { Connection } from '../connection.js';
import { BELOW } from '../filter.js';
import { namespaceLineage } from '../visibility.js';
import { statement } from './statements.js';

/** The rows that a recall may find: some namespaces, or everything. */
export interface Scope {
  /** Ids of the namespaces that exist; null for everything. */
  readonly namespaces: readonly number[] | null;
  /** Key for caches. */
  readonly key: string;
  /** The number of rows, some moments ago. */
  readonly rows: number;
  /** Average number of words of a row, from a sample. */
  readonly averageWords: number;
}

interface Statistics {
  readonly rows: number;
  readonly averageWords: number;
  readonly lastRid: number;
}

const caches = new WeakMap<Connection, Map<string, Statistics>>();
const CACHE_ENTRIES_MAX = 10_000;
/** Rows whose length is measured. */
const SAMPLE_ROWS = 64;
/** Namespaces of a subtree that are measured. */
const MEASURED_NAMESPACES_MAX = 32;
/** Characters of a row that are read for its length; the rest is extrapolated. */
const SAMPLE_CHARACTERS = 4_000;
/** Counting stops here: beyond it the number of rows hardly changes a word's weight. */
const COUNTED_ROWS_MAX = 200_000;

/** The newest rid of the store, 0 when it is empty. */
export function newestRid(database: Connection): number {
  return (statement(database, 'SELECT max(rid) FROM memories', 'pluck').get() as number | null) ?? 0;
}

/** The numbers of the namespaces that exist. */
function namespaceIds(database: Connection, names: readonly string[]): number[] {
  const sql = 'SELECT ns_id FROM json_each(?) AS listed CROSS JOIN namespaces ON name = listed.value';
  return statement(database, sql, 'pluck').all(JSON.stringify(names)) as number[];
}

/** The numbers of a namespace and all below it. */
function subtreeIds(database: Connection, root: string): number[] {
  const sql = `SELECT ns_id FROM namespaces WHERE name = @namespace OR ${BELOW} ORDER BY ns_id`;
  return statement(database, sql, 'pluck').all({ namespace: root }) as number[];
}

/**
 * Resolves a namespace to itself and its ancestors (or only to itself), and a subtree to its namespaces, with statistics
 * that follow growth by 5 %.
 */
export function scopeOf(database: Connection, namespace: string | null, ancestors = true): Scope {
  let cache = caches.get(database);
  if (cache === undefined) {
    cache = new Map();
    caches.set(database, cache);
  }
  let namespaces: number[] | null = null;
  if (namespace !== null) {
    const root = subtreeRoot(namespace);
    const names = ancestors ? namespaceLineage(namespace) : [namespace];
    namespaces = root === null ? namespaceIds(database, names) : subtreeIds(database, root);
  }
  const key = namespaces === null ? '*' : namespaces.join(',');
  const newest = newestRid(database);
  let statistics = cache.get(key);
  if (
    statistics === undefined ||
    newest < statistics.lastRid ||
    newest - statistics.lastRid > 16 + statistics.rows * 0.05
  ) {
    statistics = measure(database, namespaces, newest);
    if (cache.size >= CACHE_ENTRIES_MAX) cache.clear();
    cache.set(key, statistics);
  }
  return { namespaces, key, rows: statistics.rows, averageWords: statistics.averageWords };
}

function measure(database: Connection, namespaces: readonly number[] | null, newest: number): Statistics {
  if (namespaces === null) {
    const counted = 'SELECT count(*) FROM (SELECT 1 FROM memories LIMIT ?)';
    const rows = statement(database, counted, 'pluck').get(COUNTED_ROWS_MAX) as number;
    return { rows, lastRid: newest, averageWords: averageWords(database, null) };
  }
  let rows = 0;
  let words = 0;
  // The sum over a wide subtree follows from a sample of its namespaces.
  const step = Math.max(1, Math.ceil(namespaces.length / MEASURED_NAMESPACES_MAX));
  const sample = namespaces.filter((_, index) => index % step === 0);
  for (const id of sample) {
    const own = statement(
      database,
      'SELECT count(*) FROM (SELECT 1 FROM memories WHERE ns_id = ? LIMIT ?)',
      'pluck',
    ).get(id, COUNTED_ROWS_MAX) as number;
    rows += own;
    words += own * averageWords(database, id);
  }
  const share = sample.length === 0 ? 1 : sample.length / namespaces.length;
  return { rows: Math.ceil(rows / share), lastRid: newest, averageWords: rows === 0 ? 1 : words / rows };
}

function averageWords(database: Connection, namespace: number | null): number {
  const filter = namespace === null ? '' : 'WHERE ns_id = ?';
  const rows = statement(
    database,
    `SELECT length(title) + length(content), substr(title || ' ' || content, 1, ${SAMPLE_CHARACTERS})
     FROM memories ${filter} ORDER BY rid DESC LIMIT ${SAMPLE_ROWS}`,
    'raw',
  ).all(...(namespace === null ? [] : [namespace])) as [number, string][];
  let words = 0;
  const counter = new TextMatcher([]);
  for (const [length, text] of rows) {
    words += (counter.match(text).words * Math.max(length, 1)) / Math.max(text.length, 1);
  }
  return rows.length === 0 ? 1 : Math.max(1, words / rows.length);
}
