import { SUBTREE_TERMS_MAX } from '../../../protocol/base/limits.js';
import type { Instant } from '../../../protocol/base/meanings.js';
import { AGENTS_NAMESPACE } from '../../../protocol/identity/agent.js';
import type { RecallRequest } from '../../../protocol/memory/recall-request.js';
import type { Connection } from '../connection.js';
import { standingOf } from '../rows.js';
import { SPOKEN } from '../schema.js';
import { type SqlFragment, visibleRows } from '../visibility.js';
import { recallFilters } from './filters.js';
import { WIDENED_ROWS } from './postings.js';
import type { Scope } from './scope.js';
import { statement } from './statements.js';

/** A visible row of the scope. */
export interface LoadedRow {
  readonly rid: number;
  readonly namespace: number;
  readonly title: string;
  readonly content: string;
  /** Characters of the content, also where that was not read. */
  readonly letters: number;
  /** JSON text. */
  readonly tags: string;
  readonly tier: string;
  readonly priority: number;
  readonly confidence: number;
  readonly createdAt: Instant;
  /** True for a turn of a conversation. */
  readonly spoken: boolean;
  /** False for a row that has ended, or not begun. */
  readonly holds: boolean;
  /**
   * True when all filters except the confidence filter let it through; a row that they stop is still context for its
   * neighbours.
   */
  readonly passes: boolean;
}

type RawRow = [
  number,
  number,
  string,
  string,
  string,
  string,
  number,
  number,
  string,
  number,
  string,
  number,
];

/** Rows with one title, in as many namespaces. */
const TITLED_ROWS_MAX = 16;
/** Rows of a namespace that the last resort examines. */
const SCANNED_ROWS_MAX = 50_000;

/** Rows that begin with their rid, in the order of a list: an engine may answer them in any. */
function inOrder<R extends readonly [number, ...unknown[]]>(
  rids: readonly number[],
  rows: readonly R[],
): R[] {
  if (rows.every(([rid], index) => rid === rids[index])) return [...rows];
  const places = new Map(rids.map((rid, index) => [rid, index]));
  return rows.toSorted(([one], [other]) => places.get(one)! - places.get(other)!);
}

const namespaceId = (database: Connection, name: string): number | null =>
  (statement(database, 'SELECT ns_id FROM namespaces WHERE name = ?', 'pluck').get(name) ?? null) as
    | number
    | null;

/** Reads rows through the visibility gate. */
export class RowReader {
  readonly #database: Connection;
  readonly #scope: Scope;
  readonly #gate: SqlFragment;
  /** The gate for turns beside a row: a turn that the viewer may not see changes no score, not even by being there. */
  readonly #besideGate: SqlFragment;
  readonly #filters: SqlFragment;
  readonly #unsure: SqlFragment;
  readonly #sourced: boolean;
  readonly #now: Instant;
  readonly #allowed: ReadonlySet<number> | null;
  /** The namespace of the records of agents, which only a request that names it finds. */
  readonly #hidden: number | null;

  constructor(database: Connection, scope: Scope, request: RecallRequest) {
    this.#database = database;
    this.#scope = scope;
    this.#gate = visibleRows('memory', request.viewer, request.now);
    this.#besideGate = visibleRows('beside', request.viewer, request.now);
    this.#filters = recallFilters('memory', request);
    this.#unsure = recallFilters('memory', request, { confidence: false });
    this.#sourced = (request.sourceUriPrefix ?? null) !== null;
    this.#now = request.now;
    this.#allowed = scope.namespaces === null ? null : new Set(scope.namespaces);
    this.#hidden = scope.namespaces === null ? namespaceId(database, AGENTS_NAMESPACE) : null;
  }

  /**
   * The visible rows of the list that are in the scope, in the order of the list. With `passing` only rows that the
   * filters let through, so a long list costs little when few do; without `content` that of all rows is empty.
   */
  load(rids: readonly number[], { passing = false, content = true } = {}): LoadedRow[] {
    if (rids.length === 0) return [];
    const sql = `SELECT memory.rid, memory.ns_id, memory.title, ${content ? 'memory.content' : "''"}, memory.tags, memory.tier, memory.priority,
        memory.confidence, memory.created_at, ${passing ? '1' : this.#unsure.sql}, memory.rest, length(memory.content)
      FROM json_each(@rids) AS listed CROSS JOIN memories AS memory ON memory.rid = CAST(listed.value AS INTEGER)
      WHERE ${this.#gate.sql}${passing ? ` AND ${this.#unsure.sql}` : ''}`;
    const rows = statement(this.#database, sql, 'raw').all({
      rids: `[${rids.join(',')}]`,
      ...this.#gate.parameters,
      ...this.#unsure.parameters,
    }) as RawRow[];
    const loaded: LoadedRow[] = [];
    for (const row of inOrder(rids, rows)) {
      if (this.#allowed === null ? row[1] === this.#hidden : !this.#allowed.has(row[1])) continue;
      loaded.push({
        rid: row[0],
        namespace: row[1],
        title: row[2],
        content: row[3],
        letters: row[11],
        tags: row[4],
        tier: row[5],
        priority: row[6],
        confidence: row[7],
        createdAt: row[8],
        ...standingOf(row[10], this.#now),
        passes: row[9] === 1,
      });
    }
    return loaded;
  }

  /** Rows of the scope with exactly this title: their words may be so common that they are not among the first. */
  titled(title: string): number[] {
    const sql = `SELECT rid FROM memories WHERE title = @title AND conflict_of IS NULL
      AND (@namespaces IS NULL OR ns_id IN (SELECT CAST(value AS INTEGER) FROM json_each(@namespaces))) LIMIT ${TITLED_ROWS_MAX}`;
    const { namespaces } = this.#scope;
    return statement(this.#database, sql, 'pluck').all({
      title,
      namespaces: namespaces === null ? null : JSON.stringify(namespaces),
    }) as number[];
  }

  /** Each turn of a conversation between the visible ones before and after it, in their order. */
  chains(rids: readonly number[], distance: number): number[][] {
    if (rids.length === 0) return [];
    const side = (order: '<' | '>') =>
      `(SELECT group_concat(rid) FROM (SELECT rid FROM memories AS beside WHERE ${SPOKEN.conversation} = memory.conversation
        AND ns_id = memory.ns_id AND owner_id = memory.owner_id AND ${SPOKEN.turn} ${order} memory.turn
        AND ${this.#besideGate.sql}
        ORDER BY ${SPOKEN.turn} ${order === '<' ? 'DESC' : 'ASC'} LIMIT @distance))`;
    const sql = `SELECT memory.rid, ${side('<')}, ${side('>')}
      FROM (SELECT rid, ns_id, owner_id, ${SPOKEN.conversation} AS conversation, ${SPOKEN.turn} AS turn
        FROM json_each(@rids) AS listed CROSS JOIN memories ON rid = CAST(listed.value AS INTEGER)) AS memory`;
    const rows = statement(this.#database, sql, 'raw').all({
      rids: `[${rids.join(',')}]`,
      distance,
      ...this.#besideGate.parameters,
    }) as [number, string | null, string | null][];
    const numbers = (list: string | null) => (list === null ? [] : list.split(',').map(Number));
    return rows.map(([rid, before, after]) => [...numbers(before).reverse(), rid, ...numbers(after)]);
  }

  /** The newest rows that match an expression and pass gate and filters; it examines `WIDENED_ROWS` matches. */
  matching(expression: string, limit: number): number[] {
    const { namespaces } = this.#scope;
    // The expression names the namespaces of the scope, unless they are too many.
    const wide = (namespaces?.length ?? 0) > SUBTREE_TERMS_MAX;
    const within = wide
      ? 'AND memory.ns_id IN (SELECT CAST(value AS INTEGER) FROM json_each(@namespaces))'
      : '';
    const sql = `SELECT memory.rid FROM (SELECT rowid AS rid FROM memories_fts WHERE memories_fts MATCH @expression
        ORDER BY rowid DESC LIMIT ${WIDENED_ROWS}) AS found CROSS JOIN memories AS memory ON memory.rid = found.rid
      WHERE ${this.#gate.sql} AND ${this.#filters.sql} ${within} /* postgres: ORDER BY found.rid DESC */ LIMIT @limit`;
    return statement(this.#database, sql, 'pluck').all({
      expression,
      limit,
      ...(wide ? { namespaces: JSON.stringify(namespaces) } : {}),
      ...this.#gate.parameters,
      ...this.#filters.parameters,
    }) as number[];
  }

  /**
   * Rows of the scope that pass gate and filters, with any text. It examines the newest `SCANNED_ROWS_MAX` rows, or the
   * rows of the source that the request names.
   */
  scan(limit: number): number[] {
    if (this.#sourced) return this.#ofSource(limit);
    const scoped = this.#scope.namespaces !== null;
    const inner = scoped ? 'WHERE ns_id IN (SELECT CAST(value AS INTEGER) FROM json_each(@namespaces))' : '';
    const sql = `SELECT memory.rid FROM (SELECT rid FROM memories ${inner} ORDER BY rid DESC LIMIT ${SCANNED_ROWS_MAX}) AS listed
      CROSS JOIN memories AS memory ON memory.rid = listed.rid
      WHERE ${this.#gate.sql} AND ${this.#filters.sql} /* postgres: ORDER BY listed.rid DESC */ LIMIT @limit`;
    return statement(this.#database, sql, 'pluck').all({
      limit,
      ...(scoped ? { namespaces: JSON.stringify(this.#scope.namespaces) } : {}),
      ...this.#gate.parameters,
      ...this.#filters.parameters,
    }) as number[];
  }

  #ofSource(limit: number): number[] {
    const sql = `SELECT memory.rid FROM memories AS memory INDEXED BY memories_source_uri
      WHERE memory.source_uri >= @uri_prefix AND memory.source_uri < @uri_prefix || char(1114111)
      AND ${this.#gate.sql} AND ${this.#filters.sql} LIMIT @limit`;
    return statement(this.#database, sql, 'pluck').all({
      limit,
      ...this.#gate.parameters,
      ...this.#filters.parameters,
    }) as number[];
  }
}
