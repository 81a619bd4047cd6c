import { fail, type Result } from '../../protocol/base/result.js';
import type { SelfCheckPage } from '../port.js';
import type { AuditHeadFile } from '../sql/audit-head.js';
import type { Connection, Fault, GraphEngine, Statement, TextRows } from '../sql/connection.js';
import { diskFull, stayedLocked } from '../sql/failures.js';
import { Bridge } from './bridge.js';
import { PostgresTexts, queryOf } from './full-text.js';
import { graphEngineOf } from './graph-engine.js';
import type { PostgresPlace, Reply, Rows, Run } from './messages.js';
import { CommitUnknownError, faultOfPostgres, isLoss, PostgresError } from './postgres-errors.js';
import { PostgresStatement, type Prepared } from './postgres-statement.js';
import { type Entry, effectOf, ReadCache } from './read-cache.js';
import { translate } from './translate.js';
import { VACUUM_TEXTS } from './vacuum-texts.js';
import {
  LAST_NUMBER,
  LEAVE_MARK,
  NAME_WRITER,
  READ_MARK,
  TAKE_LOCK,
  TAKE_NUMBERS,
  TELL,
} from './writer-statements.js';

/** What a connection is opened for. */
export interface PostgresOptions extends PostgresPlace {
  readonly readOnly: boolean;
  readonly auditHeads?: AuditHeadFile | null;
}

/** A server that restarts is back within about this time; then whoever waits hears that the outcome is unknown. */
const ASKED_AGAIN_MAX = 40;
const ASK_AGAIN_MS = 50;
const NEVER = new Int32Array(new SharedArrayBuffer(4));

/** Statements that end or mark a transaction: what was queued must have succeeded when they return. */
const BARRIER = /^\s*(COMMIT|RELEASE|ROLLBACK|SAVEPOINT)\b/i;

/**
 * A database of PostgreSQL. The thread that calls waits for each answer. Statements that only write are queued, and go with the
 * next one whose answer is needed.
 */
export class PostgresConnection implements Connection {
  readonly engine = 'postgres';
  readonly graphEngine = (): GraphEngine => graphEngineOf(this).engine;
  readonly auditHeads: AuditHeadFile | null;
  readonly #bridge: Bridge;
  readonly #queue: Run[] = [];
  readonly #waiting: Hears[] = [];
  readonly #texts = new Map<string, Prepared>();
  readonly #cache = new ReadCache<Prepared>();
  readonly #isReadOnly: boolean;
  /** The last number of a memory in a transaction that adds some; `last` is null until the server has answered. */
  #rids: { last: number | null; used: number } | null = null;
  /** Names of iterations that have ended. */
  readonly #portals: string[] = [];
  #named = 0;
  readonly #told = new Set<number>();
  readonly #columns = new Map<number, readonly string[]>();
  #transaction: 'none' | 'open' | 'lost' = 'none';
  /** True when the server has the beginning of the transaction: what follows may only run on the same connection. */
  #begun = false;
  /** Under this name each transaction of this connection that writes leaves its number. */
  #writer: string | null = null;
  #mark = 0;
  /** True in a transaction that leaves its number. */
  #isMarked = false;
  #rows: TextRows | null = null;

  constructor({ readOnly, auditHeads = null, ...place }: PostgresOptions) {
    this.#bridge = new Bridge(place, readOnly);
    this.#isReadOnly = readOnly;
    this.auditHeads = auditHeads;
  }

  get inTransaction(): boolean {
    return this.#transaction !== 'none';
  }

  prepare<P extends unknown[] | object = unknown[], R = unknown>(
    sql: string,
  ): P extends unknown[] ? Statement<P, R> : Statement<[P], R> {
    return new PostgresStatement(this, this.prepared(sql)) as never;
  }

  private prepared(sql: string): Prepared {
    let prepared = this.#texts.get(sql);
    if (prepared === undefined) {
      const translated = translate(sql);
      prepared = { number: this.#texts.size, effect: effectOf(translated.text), ...translated };
      this.#texts.set(sql, prepared);
    }
    return prepared;
  }

  exec(sql: string): void {
    if (BARRIER.test(sql) || /^\s*BEGIN\b/i.test(sql)) {
      this.prepare(/^\s*BEGIN\b/i.test(sql) ? 'BEGIN' : sql.replace(/;\s*$/, '')).run();
      return;
    }
    this.script(translate(sql).text);
  }

  /** Runs statements as they stand: in PostgreSQL's own SQL. */
  script(text: string): void {
    this.flush();
    this.#expectWhole();
    this.#cache.changed({ reads: null, writes: 'all' });
    const { error } = this.#bridge.ask({ script: text, continues: this.#begun });
    if (error !== undefined) throw this.#failed(new PostgresError(error));
  }

  transaction<A extends unknown[], T>(work: (...given: A) => T): (...given: A) => T {
    return (...given) => {
      // One state of the database for all reads.
      this.prepare('BEGIN ISOLATION LEVEL REPEATABLE READ').run();
      try {
        const value = work(...given);
        if (this.#isReadOnly) this.#endReading();
        else this.prepare('COMMIT').run();
        return value;
      } catch (error) {
        if (this.inTransaction) this.prepare('ROLLBACK').run();
        throw error;
      }
    };
  }

  /** Nobody waits for the end of a transaction that only read; the next one comes behind it. */
  #endReading(): void {
    this.flush();
    this.#expectWhole();
    this.#bridge.end(this.#runOf(this.prepared('COMMIT'), []));
    this.#ended();
  }

  beginWrite(): void {
    this.#writer ??= this.prepare<[], string>(NAME_WRITER).pluck().get()!;
    this.#mark += 1;
    // Whether the lock is free is known when the first read is answered.
    this.prepare('BEGIN').run();
    this.prepare(TAKE_LOCK).run();
    this.prepare<[string, number]>(LEAVE_MARK).run(this.#writer, this.#mark);
    this.#isMarked = true;
    for (const entry of this.#cache.begin()) this.#pushAhead(entry);
  }

  ahead(statement: Statement<never[]>, ...parameters: readonly unknown[]): void {
    (statement as unknown as PostgresStatement).ahead(parameters);
  }

  insertion(sql: string, column: string): (...values: readonly unknown[]) => number {
    const statement = this.prepare<unknown[], number>(`${sql} RETURNING ${column}`).pluck();
    return (...values) => statement.get(...values)!;
  }

  expectMemories(): void {
    this.#rids = { last: null, used: 0 };
    const rids = this.#rids;
    this.#push(this.prepared(LAST_NUMBER), ['memories', 'rid'], {
      rows: ([row]) => {
        rids.last = Number(row?.[0] ?? 0);
      },
    });
  }

  nextRid(): number | null {
    const rids = this.#rids;
    if (rids === null) return null;
    if (rids.last === null) this.flush();
    if (rids.last === null) return null;
    rids.last += 1;
    rids.used += 1;
    return rids.last;
  }

  faultOf(error: unknown): Fault | null {
    return faultOfPostgres(error);
  }

  failureOf(error: unknown): Result<never> {
    const fault = faultOfPostgres(error);
    if (fault === null) throw error;
    if (error instanceof CommitUnknownError) return fail('ACTOR_RESTARTED', error.message);
    if (fault === 'full') return diskFull();
    if (fault === 'busy') return stayedLocked();
    const { code, message } = error as PostgresError;
    if (fault === 'failed' && /^(CONNECTION$|08|57P|53|25006|25P03|28|3D)/.test(code)) {
      const why = `the database server cannot be used now (${code}: ${message})`;
      return fail('UNAVAILABLE', `${why}; nothing was changed. Try again in a moment.`);
    }
    if (code === '57014')
      return fail(
        'DATABASE_ERROR',
        'the database server stopped a statement that took too long; nothing was changed',
      );
    return fail('DATABASE_ERROR', `the database server refused (${code}: ${message}); nothing was changed`);
  }

  refusalOfWrites(): null {
    return null;
  }

  makeRoom(): boolean {
    return false;
  }

  othersCommits(): unknown {
    return this.prepare('SELECT pg_current_snapshot()::text').pluck().get();
  }

  lastNumberOf(table: string, column: string): number {
    return this.prepare<[string, string], number | null>(LAST_NUMBER).pluck().get(table, column) ?? 0;
  }

  setLastNumber(table: string, column: string, last: number): void {
    if (last <= this.lastNumberOf(table, column)) return;
    this.prepare('SELECT setval(pg_get_serial_sequence(?, ?)::regclass, ?)').get(table, column, last);
  }

  usedBytes = () => null;

  sizeBytes(): number {
    return this.prepare<[], number>('SELECT pg_database_size(current_database())').pluck().get()!;
  }

  wipeFreed(): boolean {
    this.script(VACUUM_TEXTS);
    return true;
  }

  /** The server checks its own pages (data checksums, amcheck). */
  selfCheck(): SelfCheckPage {
    return { problems: [], next: null };
  }

  get texts(): TextRows {
    this.#rows ??= new PostgresTexts(this);
    return this.#rows;
  }

  close(): void {
    this.#bridge.close();
  }

  /** Queues a statement whose answer nobody needs yet; `onCount` hears how many rows it changed. */
  queue(prepared: Prepared, values: readonly unknown[], onCount: (count: number) => void): void {
    if (/^\s*ROLLBACK\b/i.test(prepared.text)) {
      // What it undoes need not be sent, and may not fail before it.
      this.#forget();
      const isWhole = !/\bTO\b/i.test(prepared.text);
      // A lost connection has rolled back.
      if (isWhole && (this.#transaction === 'lost' || !this.#begun)) {
        this.#ended();
        return;
      }
    }
    this.#expectWhole();
    this.#cache.changed(prepared.effect);
    if (this.#isMarked && /^\s*COMMIT\b/i.test(prepared.text)) this.#beforeCommit();
    this.#push(prepared, values, { count: onCount });
    if (BARRIER.test(prepared.text)) this.#barrier(prepared.text);
    else if (/^\s*BEGIN\b/i.test(prepared.text)) this.#transaction = 'open';
    else if (this.#transaction === 'none') this.flush();
  }

  #beforeCommit(): void {
    if (this.#rids !== null && this.#rids.used > 0)
      this.#push(this.prepared(TAKE_NUMBERS), ['memories', 'rid', this.#rids.used], {});
    this.#push(this.prepared(TELL), [], {});
  }

  /** Runs a statement after those that are queued, and answers its rows. */
  ask(prepared: Prepared, values: readonly unknown[]): { columns: readonly string[]; rows: Rows } {
    this.#expectWhole();
    const kept = this.#cache.of(prepared, values, prepared.effect);
    let rows = kept?.rows ?? null;
    if (rows === null) {
      if (kept?.isQueued !== true) {
        this.#cache.changed(prepared.effect);
        this.#push(prepared, values, {
          rows: (found) => {
            rows = found;
            if (kept !== null) kept.rows = found;
          },
        });
      }
      this.#send();
      rows ??= kept?.rows ?? [];
    }
    return { rows, columns: this.#columns.get(prepared.number) ?? [] };
  }

  /**
   * Rows of a statement, in parts that are read as they are taken: many may follow, and nobody may want them. Without a transaction
   * around it, it has one of its own.
   */
  *parts(prepared: Prepared, values: readonly unknown[]): IterableIterator<readonly unknown[]> {
    const owns = !this.inTransaction;
    if (owns) this.prepare('BEGIN').run();
    const name = this.#portals.pop() ?? `p${this.#named++}`;
    try {
      let rows = FIRST_ROWS;
      for (let isFirst = true; ; isFirst = false) {
        const found = this.#part(prepared, values, { name, rows, isFirst });
        yield* found;
        if (found.length < rows) break;
        rows = Math.min(rows * 4, ROWS_MAX);
      }
    } catch (error) {
      if (owns) this.#giveUp();
      throw error;
    } finally {
      this.#portals.push(name);
      if (owns && this.inTransaction) this.#endReading();
    }
  }

  #part(prepared: Prepared, values: readonly unknown[], part: NonNullable<Run['part']>): Rows {
    let found: Rows = [];
    this.#expectWhole();
    this.#cache.changed(prepared.effect);
    this.#queue.push({ ...this.#runOf(prepared, values), wanted: true, part });
    this.#waiting.push({
      rows: (all) => {
        found = all;
      },
    });
    this.#send();
    return found;
  }

  columnsOf({ number }: Prepared): readonly string[] {
    return this.#columns.get(number) ?? [];
  }

  /** Queues a read whose answer is kept until it is asked for. */
  askAhead(prepared: Prepared, values: readonly unknown[]): void {
    this.#expectWhole();
    const kept = this.#cache.of(prepared, values, prepared.effect);
    if (kept !== null && kept.rows === null && !kept.isQueued) this.#pushAhead(kept);
  }

  #pushAhead(entry: Entry<Prepared>): void {
    entry.isQueued = true;
    this.#push(entry.statement, entry.values, {
      rows: (rows) => {
        entry.rows = rows;
      },
    });
  }

  /** Sends what is queued. */
  flush(): void {
    if (this.#queue.length > 0) this.#send();
  }

  #push(prepared: Prepared, values: readonly unknown[], hears: Hears): void {
    const run = this.#runOf(prepared, values);
    this.#queue.push(hears.rows === undefined ? run : { ...run, wanted: true });
    this.#waiting.push(hears);
  }

  #send(): void {
    const runs = this.#queue.splice(0);
    const waiting = this.#waiting.splice(0);
    const reply = this.#bridge.ask({ runs, continues: this.#begun });
    this.#begun ||= this.#transaction === 'open';
    for (const [statement, names] of reply.columns ?? []) this.#columns.set(statement, names);
    if (reply.error !== undefined) throw this.#failed(this.#errorOf(reply, runs));
    for (const [index, hears] of waiting.entries()) {
      hears.count?.(reply.counts[index] ?? 0);
      hears.rows?.(reply.rows[index] ?? []);
    }
  }

  /** With the statement, which holds no values: an error that no fault explains is a bug of it. */
  #errorOf({ error, failed = 0 }: Reply, runs: readonly Run[]): PostgresError {
    const text = [...this.#texts.values()][runs[failed]?.statement ?? -1]?.text ?? '';
    return new PostgresError(error!, text);
  }

  /** A lost connection has ended its transaction. */
  #failed(error: PostgresError): PostgresError {
    this.#forget();
    this.#cache.end();
    if (this.#transaction === 'open' && isLoss(error.code)) this.#transaction = 'lost';
    return error;
  }

  /** Forgets what is queued. */
  #forget(): void {
    for (const { statement, text } of this.#queue) if (text !== undefined) this.#told.delete(statement);
    this.#queue.length = 0;
    this.#waiting.length = 0;
  }

  #expectWhole(): void {
    if (this.#transaction === 'lost') {
      const message = 'the connection was lost within a transaction';
      throw new PostgresError({ code: 'CONNECTION', message, constraint: null });
    }
  }

  #barrier(text: string): void {
    const ends = /^\s*(COMMIT|ROLLBACK(?!\s+TO))/i.test(text);
    const isMarked = this.#isMarked;
    try {
      this.#send();
    } catch (error) {
      const isLost = ends && this.#transaction === 'lost';
      if (isLost) this.#ended();
      if (isLost && /^\s*COMMIT/i.test(text)) {
        if (!isMarked) throw error;
        this.#expectCommitted(error);
        return;
      }
      // A lost connection has rolled back.
      if (isLost) return;
      throw error;
    }
    if (ends) this.#ended();
  }

  /**
   * After a commit without an answer: asks a new connection whether its mark is there. It waits for the lock of the writers, which
   * the lost session keeps until its commit has ended. (The number of a transaction would not do: a server that crashed gives
   * numbers again whose transactions left nothing on its disk.)
   */
  #expectCommitted(error: unknown): void {
    const mark = this.#mark;
    let left: unknown;
    try {
      left = this.#askAgain(() => {
        this.prepare('BEGIN').run();
        this.prepare(TAKE_LOCK).run();
        const found = this.prepare<[string], number>(READ_MARK).pluck().get(this.#writer!);
        this.prepare('COMMIT').run();
        return found;
      });
    } catch {
      this.#giveUp();
      throw new CommitUnknownError(
        'the database server was lost at the commit: it is unknown whether it was done',
      );
    }
    if (left !== mark) throw error;
  }

  /** Asks again while the server is not back, for a moment. */
  #askAgain<T>(ask: () => T): T {
    for (let tries = 1; ; tries += 1) {
      try {
        return ask();
      } catch (error) {
        this.#giveUp();
        if (tries === ASKED_AGAIN_MAX || !(error instanceof PostgresError && isLoss(error.code))) throw error;
        Atomics.wait(NEVER, 0, 0, ASK_AGAIN_MS);
      }
    }
  }

  #giveUp(): void {
    if (!this.inTransaction) return;
    try {
      this.prepare('ROLLBACK').run();
    } catch {
      this.#ended();
    }
  }

  #ended(): void {
    this.#transaction = 'none';
    this.#begun = false;
    this.#isMarked = false;
    this.#rids = null;
    this.#cache.end();
  }

  #runOf({ number, text, expressions }: Prepared, values: readonly unknown[]): Run {
    const given =
      expressions.size === 0
        ? values
        : values.map((value, index) => (expressions.has(index) ? queryOf(String(value)) : value));
    if (this.#told.has(number)) return { statement: number, values: given };
    this.#told.add(number);
    return { statement: number, text, values: given };
  }
}

/** What is told of a statement that was queued. */
interface Hears {
  readonly count?: (count: number) => void;
  readonly rows?: (rows: Rows) => void;
}

/** Rows of the first part that an iteration reads; each further one is larger, up to the most. */
const FIRST_ROWS = 256;
const ROWS_MAX = 4_096;
