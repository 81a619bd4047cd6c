import { createHash } from 'node:crypto';
import type { Instant } from '../../protocol/base/meanings.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { Connection } from './connection.js';
import { TextIndex } from './text-index.js';
import {
  copiedRows,
  type KeyPart,
  noteCopy,
  type UnfinishedCopy,
  unfinishedCopy,
} from './unfinished-copy.js';

/** A table as a copy needs it. */
export interface TableShape {
  readonly table: string;
  /** Without those that the engine computes. */
  readonly columns: readonly string[];
  /** The columns of its key, in which order it is read. */
  readonly key: readonly string[];
  /** The column that numbers its rows; null where none does. */
  readonly numbered: string | null;
}

export interface CopyOptions {
  readonly from: Connection;
  readonly to: Connection;
  /** In an order in which each row comes after those that it refers to. */
  readonly tables: readonly TableShape[];
  /** How the source is called in the note about an unfinished copy. */
  readonly source: string;
  readonly batchRows: number;
  readonly now: Instant;
  readonly step: CopyProgress;
}

/** Is told how many of the rows of a table are copied or compared. */
export type CopyProgress = (what: 'copying' | 'comparing', table: string, rows: number, of: number) => void;

export interface Copied {
  /** Rows of each table. */
  readonly rows: Readonly<Record<string, number>>;
  /** Rows that this run wrote; a run that went on wrote fewer. */
  readonly written: Readonly<Record<string, number>>;
  readonly batches: number;
  /** True when an earlier run had begun. */
  readonly resumed: boolean;
  /** The sum over all rows, equal on both sides. */
  readonly digest: string;
}

/** The row with the counters of the log comes last: a database without it is no node's. */
const LAST = 'log_state';

/** A transaction of a batch holds about this much: a server ends a session that finds terms for long within one. */
const BATCH_BYTES = 2 ** 21;
const FIRST_ROWS = 32;

/** The rows of each table of a database. */
export function countRows(db: Connection, tables: readonly TableShape[]): Readonly<Record<string, number>> {
  return Object.fromEntries(
    tables.map(({ table }) => [
      table,
      db
        .prepare<[], number>(`SELECT count(*) FROM ${table} WHERE ${copiedRows(table)}`)
        .pluck()
        .get() ?? 0,
    ]),
  );
}

/**
 * Copies all rows of a database into one without rows, or goes on with a copy of the same source that was interrupted, and
 * compares both afterwards. The source does not change meanwhile: the caller holds it. CONFLICT when the target has rows of
 * its own, or an unfinished copy of something else.
 */
export function copyDatabase(options: CopyOptions): Result<Copied> {
  const { from, to, tables } = options;
  const rows = countRows(from, tables);
  const source = markOf(from, options.source, rows);
  const begun = beginning(options, source);
  if (!begun.ok) return failed(begun.error);
  const copier = new Copier(options, source, rows);
  const body = tables.filter(({ table }) => table !== LAST);
  const at = begun.value;
  const first = at === null ? 0 : body.findIndex(({ table }) => table === at.table);
  for (const [index, shape] of body.entries()) {
    if (index < first) continue;
    copier.copy(shape, at !== null && index === first ? at.after : null, body[index + 1]?.table ?? LAST);
  }
  for (const { table, numbered } of tables) {
    if (numbered !== null) to.setLastNumber(table, numbered, lastNumber(from, table, numbered));
  }
  const digests = body.map((shape) => ({
    table: shape.table,
    one: copier.digest(from, shape),
    other: copier.digest(to, shape),
  }));
  const wrong = digests.filter(({ one, other }) => one !== other).map(({ table }) => table);
  if (wrong.length > 0) {
    const which = `the copy differs from its source in ${wrong.join(', ')}`;
    return fail('DATABASE_ERROR', `${which}: empty the target, and copy again`);
  }
  copier.finish(tables.find(({ table }) => table === LAST)!);
  const digest = createHash('sha256').update(JSON.stringify(digests)).digest('hex');
  return ok({ rows, written: copier.written, batches: copier.batches, resumed: at !== null, digest });
}

/** What a source is: its log, its audit chain and the numbers of its rows. */
function markOf(from: Connection, name: string, rows: Readonly<Record<string, number>>): string {
  const log = from.prepare('SELECT peer_id, db_epoch, commit_sequence, chain_head FROM log_state').get();
  const audit = from.prepare('SELECT max(sequence) AS events FROM signed_events').get();
  return createHash('sha256')
    .update(JSON.stringify([name, log, audit, rows]))
    .digest('hex');
}

/** Where the copy goes on; null where it begins. */
type Beginning = { readonly table: string; readonly after: readonly KeyPart[] | null } | null;

/** Looks under the lock of the writers: a server may still commit the last batch of a process that was killed. */
function beginning(options: CopyOptions, source: string): Result<Beginning> {
  const { to } = options;
  to.beginWrite();
  try {
    const begun = begin(options, source);
    to.exec(begun.ok ? 'COMMIT' : 'ROLLBACK');
    return begun;
  } catch (error) {
    if (to.inTransaction) to.exec('ROLLBACK');
    throw error;
  }
}

function begin({ to, tables, now }: CopyOptions, source: string): Result<Beginning> {
  const unfinished = unfinishedCopy(to);
  if (unfinished !== null && unfinished.source === source) return ok(unfinished);
  if (unfinished !== null)
    return fail(
      'CONFLICT',
      'the target has an unfinished copy of another source, or of this one before it changed: empty the target, and copy again',
    );
  const filled = tables.filter(
    ({ table }) => to.prepare(`SELECT 1 FROM ${table} LIMIT 1`).get() !== undefined,
  );
  if (filled.length > 0) {
    const names = filled.map(({ table }) => table).join(', ');
    return fail('CONFLICT', `the target is not empty: it has rows in ${names}`);
  }
  const first = tables.find(({ table }) => table !== LAST)!;
  noteCopy(to, { source, table: first.table, after: null }, now);
  return ok(null);
}

function lastNumber(from: Connection, table: string, column: string): number {
  const highest = from.prepare<[], number | null>(`SELECT max(${column}) FROM ${table}`).pluck().get() ?? 0;
  return Math.max(highest, from.lastNumberOf(table, column));
}

const keptPart = (value: unknown): KeyPart =>
  value instanceof Uint8Array ? { hex: Buffer.from(value).toString('hex') } : (value as number | string);
const boundPart = (part: KeyPart): unknown =>
  typeof part === 'object' ? Buffer.from(part.hex, 'hex') : part;

/** Copies and compares tables in the order of their keys. */
class Copier {
  readonly written: Record<string, number> = {};
  batches = 0;
  private readonly texts: TextIndex;

  constructor(
    private readonly options: CopyOptions,
    private readonly source: string,
    private readonly rows: Readonly<Record<string, number>>,
  ) {
    this.texts = new TextIndex(options.to);
  }

  /** Copies a table from behind a key. `next` is the table that follows. */
  copy(shape: TableShape, after: readonly KeyPart[] | null, next: string): void {
    const { table } = shape;
    const { to, now } = this.options;
    let place: UnfinishedCopy = { source: this.source, table, after };
    this.written[table] = 0;
    for (const page of this.pages(this.options.from, shape, after, 'copying')) {
      to.beginWrite();
      try {
        this.expectAlone(place);
        this.insert(shape, page);
        place = { source: this.source, table, after: keyOf(shape, page.at(-1)!).map(keptPart) };
        noteCopy(to, place, now);
        to.exec('COMMIT');
      } catch (error) {
        if (to.inTransaction) to.exec('ROLLBACK');
        throw error;
      }
      this.written[table] += page.length;
      this.batches += 1;
    }
    to.beginWrite();
    noteCopy(to, { source: this.source, table: next, after: null }, now);
    to.exec('COMMIT');
  }

  /** The sum over the rows of a table. */
  digest(db: Connection, shape: TableShape): string {
    const hash = createHash('sha256');
    for (const page of this.pages(db, shape, null, 'comparing')) {
      for (const row of page) hash.update(`${JSON.stringify(row.map(keptPart))}\n`);
    }
    return hash.digest('hex');
  }

  /** Makes the target the database of the node. */
  finish(shape: TableShape): void {
    const { from, to, now } = this.options;
    const rows = [...this.pages(from, shape, null, 'copying')].flat();
    to.beginWrite();
    try {
      this.insert(shape, rows);
      noteCopy(to, null, now);
      to.exec('COMMIT');
    } catch (error) {
      if (to.inTransaction) to.exec('ROLLBACK');
      throw error;
    }
    this.written[shape.table] = rows.length;
  }

  /** Another process may copy into the same target. */
  private expectAlone(place: UnfinishedCopy): void {
    if (JSON.stringify(unfinishedCopy(this.options.to)) === JSON.stringify(place)) return;
    throw new CopiedByAnotherError('another process copies into the same target');
  }

  private insert({ table, columns }: TableShape, page: readonly (readonly unknown[])[]): void {
    const { to } = this.options;
    const insertion = to.prepare(
      `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
    );
    for (const row of page) {
      insertion.run(...row);
      if (table !== 'memories') continue;
      const at = (name: string) => row[columns.indexOf(name)];
      const [title, content, tags] = ['title', 'content', 'tags'].map((name) => String(at(name)));
      this.texts.add(at('rid') as number, {
        title: title!,
        content: content!,
        tags: tags!,
        ns_id: at('ns_id') as number,
      });
    }
  }

  /** The rows behind a key, some at a time: fewer where they are large. */
  private *pages(
    db: Connection,
    shape: TableShape,
    after: readonly KeyPart[] | null,
    what: 'copying' | 'comparing',
  ): IterableIterator<readonly (readonly unknown[])[]> {
    const { table, columns, key } = shape;
    const { batchRows, step } = this.options;
    const list = `SELECT ${columns.join(', ')} FROM ${table} WHERE ${copiedRows(table)}`;
    const order = `ORDER BY ${key.join(', ')} LIMIT ?`;
    const first = db.prepare<unknown[], readonly unknown[]>(`${list} ${order}`).raw();
    const further = db
      .prepare<unknown[], readonly unknown[]>(
        `${list} AND (${key.join(', ')}) > (${key.map(() => '?').join(', ')}) ${order}`,
      )
      .raw();
    let place = after;
    let limit = Math.min(FIRST_ROWS, batchRows);
    let seen = 0;
    for (;;) {
      const page = place === null ? first.all(limit) : further.all(...place.map(boundPart), limit);
      if (page.length === 0) return;
      yield page;
      seen += page.length;
      step(what, table, seen, this.rows[table] ?? 0);
      if (page.length < limit) return;
      place = keyOf(shape, page.at(-1)!).map(keptPart);
      limit = nextLimit(page, batchRows);
    }
  }
}

/** Another process copies into the same database. */
export class CopiedByAnotherError extends Error {}

const keyOf = ({ columns, key }: TableShape, row: readonly unknown[]): readonly unknown[] =>
  key.map((name) => row[columns.indexOf(name)]);

function nextLimit(page: readonly (readonly unknown[])[], batchRows: number): number {
  const bytes = page.reduce(
    (sum, row) => sum + row.reduce<number>((all, value) => all + sizeOf(value), 0),
    0,
  );
  const fitting = Math.floor((BATCH_BYTES / Math.max(bytes, 1)) * page.length);
  return Math.max(1, Math.min(batchRows, fitting, page.length * 8));
}

const sizeOf = (value: unknown): number =>
  typeof value === 'string' || value instanceof Uint8Array ? value.length : 8;
