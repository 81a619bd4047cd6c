import { fail, type Result } from '../../protocol/base/result.js';
import type { SelfCheckPage } from '../port.js';
import type { AuditHeadFile } from '../sql/audit-head.js';
import type { Changes, Connection, Fault, Statement, TextRows } from '../sql/connection.js';
import { diskFull } from '../sql/failures.js';
import { Bridge } from './bridge.js';
import { PostgresTexts, queryOf } from './full-text.js';
import type { PostgresPlace, Reply, Run } from './messages.js';
import { CommitUnknownError, faultOfPostgres, isLoss, PostgresError } from './postgres-errors.js';
import { type Translated, translate } from './translate.js';

/** What a connection is opened for. */
export interface PostgresOptions extends PostgresPlace {
  readonly readOnly: boolean;
  readonly auditHeads?: AuditHeadFile | null;
}

/** The key of the lock that a writer of a database holds from the beginning of its transaction to the end. */
export const WRITER_LOCK = 0x6d6e656d;

const TAKE_LOCK = `SELECT pg_advisory_xact_lock(${WRITER_LOCK})`;
const LEAVE_MARK = `INSERT INTO commit_marks (writer, mark) VALUES (?, ?)
  ON CONFLICT (writer) DO UPDATE SET mark = excluded.mark, since = now() RETURNING mark`;
/** Forgets writers of last week as well: one asks for its mark within seconds of its commit. */
const NAME_WRITER = `WITH gone AS (DELETE FROM commit_marks WHERE since < now() - interval '7 days')
  SELECT gen_random_uuid()::text AS name`;
const READ_MARK = 'SELECT mark FROM commit_marks WHERE writer = ?';

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
  readonly auditHeads: AuditHeadFile | null;
  readonly #bridge: Bridge;
  readonly #queue: Run[] = [];
  readonly #waiting: ((count: number) => void)[] = [];
  readonly #texts = new Map<string, Prepared>();
  readonly #told = new Set<number>();
  readonly #columns = new Map<number, readonly string[]>();
  #transaction: 'none' | 'open' | 'lost' = 'none';
  /** True when the server has the beginning of the transaction: what follows may only run on the same connection. */
  #begun = false;
  /** Under this name each transaction of this connection that writes leaves its number. */
  #writer: string | null = null;
  #mark = 0;
  /** True in a transaction that has left its number. */
  #isMarked = false;
  #rows: TextRows | null = null;

  constructor({ readOnly, auditHeads = null, ...place }: PostgresOptions) {
    this.#bridge = new Bridge(place, readOnly);
    this.auditHeads = auditHeads;
  }

  get inTransaction(): boolean {
    return this.#transaction !== 'none';
  }

  prepare<P extends unknown[] | object = unknown[], R = unknown>(
    sql: string,
  ): P extends unknown[] ? Statement<P, R> : Statement<[P], R> {
    let prepared = this.#texts.get(sql);
    if (prepared === undefined) {
      prepared = { number: this.#texts.size, ...translate(sql) };
      this.#texts.set(sql, prepared);
    }
    return new PostgresStatement(this, prepared) as never;
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
    const { error } = this.#bridge.ask({ script: text, continues: this.#begun });
    if (error !== undefined) throw this.#failed(new PostgresError(error));
  }

  transaction<A extends unknown[], T>(work: (...given: A) => T): (...given: A) => T {
    return (...given) => {
      // One state of the database for all reads.
      this.prepare('BEGIN ISOLATION LEVEL REPEATABLE READ').run();
      try {
        const value = work(...given);
        this.prepare('COMMIT').run();
        return value;
      } catch (error) {
        if (this.inTransaction) this.prepare('ROLLBACK').run();
        throw error;
      }
    };
  }

  beginWrite(): void {
    this.#writer ??= this.prepare<[], string>(NAME_WRITER).pluck().get()!;
    this.#mark += 1;
    try {
      this.prepare('BEGIN').run();
      this.prepare(TAKE_LOCK).run();
      this.prepare<[string, number]>(LEAVE_MARK).get(this.#writer, this.#mark);
      this.#isMarked = true;
    } catch (error) {
      this.#giveUp();
      throw error;
    }
  }

  faultOf(error: unknown): Fault | null {
    return faultOfPostgres(error);
  }

  failureOf(error: unknown): Result<never> {
    const fault = faultOfPostgres(error);
    if (fault === null) throw error;
    if (error instanceof CommitUnknownError) return fail('ACTOR_RESTARTED', error.message);
    if (fault === 'full') return diskFull();
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

  insertion(sql: string, column: string): (...values: readonly unknown[]) => number {
    const statement = this.prepare<unknown[], number>(`${sql} RETURNING ${column}`).pluck();
    return (...values) => statement.get(...values)!;
  }

  lastNumberOf(table: string, column: string): number {
    const asked = 'SELECT pg_sequence_last_value(pg_get_serial_sequence(?, ?)::regclass)';
    return this.prepare<[string, string], number | null>(asked).pluck().get(table, column) ?? 0;
  }

  setLastNumber(table: string, column: string, last: number): void {
    if (last <= this.lastNumberOf(table, column)) return;
    this.prepare('SELECT setval(pg_get_serial_sequence(?, ?)::regclass, ?)').get(table, column, last);
  }

  sizeBytes(): number {
    return this.prepare<[], number>('SELECT pg_database_size(current_database())').pluck().get()!;
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
    if (this.#transaction === 'lost' && /^\s*ROLLBACK(?!\s+TO)/i.test(prepared.text)) {
      // The server has rolled it back.
      this.#ended();
      return;
    }
    this.#expectWhole();
    this.#queue.push(this.#runOf(prepared, values));
    this.#waiting.push(onCount);
    if (BARRIER.test(prepared.text)) this.#barrier(prepared.text);
    else if (/^\s*BEGIN\b/i.test(prepared.text)) this.#transaction = 'open';
    else if (this.#transaction === 'none') this.flush();
  }

  /** Runs a statement after those that are queued, and answers its rows. */
  ask(prepared: Prepared, values: readonly unknown[]): { columns: readonly string[]; rows: Reply['rows'] } {
    this.#expectWhole();
    this.#queue.push(this.#runOf(prepared, values));
    this.#waiting.push(() => {});
    const { rows, columns } = this.#send();
    if (columns !== undefined) this.#columns.set(prepared.number, columns);
    return { rows, columns: this.#columns.get(prepared.number) ?? [] };
  }

  /** Sends what is queued. */
  flush(): void {
    if (this.#queue.length > 0) this.#send();
  }

  #send(): Reply {
    const runs = this.#queue.splice(0);
    const waiting = this.#waiting.splice(0);
    const reply = this.#bridge.ask({ runs, continues: this.#begun });
    this.#begun ||= this.#transaction === 'open';
    if (reply.error !== undefined) throw this.#failed(this.#errorOf(reply, runs));
    reply.counts.forEach((count, index) => {
      waiting[index]?.(count);
    });
    return reply;
  }

  /** With the statement, which holds no values: an error that no fault explains is a bug of it. */
  #errorOf({ error, failed = 0 }: Reply, runs: readonly Run[]): PostgresError {
    const text = [...this.#texts.values()][runs[failed]?.statement ?? -1]?.text ?? '';
    return new PostgresError(error!, text);
  }

  /** A lost connection has ended its transaction. */
  #failed(error: PostgresError): PostgresError {
    this.#queue.length = 0;
    this.#waiting.length = 0;
    if (this.#transaction === 'open' && isLoss(error.code)) this.#transaction = 'lost';
    return error;
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

interface Prepared extends Translated {
  readonly number: number;
}

class PostgresStatement implements Statement {
  #shape: 'object' | 'first' | 'list' = 'object';

  constructor(
    private readonly db: PostgresConnection,
    private readonly prepared: Prepared,
  ) {}

  pluck(): this {
    this.#shape = 'first';
    return this;
  }

  raw(): this {
    this.#shape = 'list';
    return this;
  }

  get(...parameters: unknown[]): unknown {
    return this.all(...parameters)[0];
  }

  all(...parameters: unknown[]): unknown[] {
    const { rows, columns } = this.db.ask(this.prepared, this.#values(parameters));
    if (this.#shape === 'first') return rows.map((row) => shown(row[0]));
    if (this.#shape === 'list') return rows.map((row) => row.map(shown));
    return rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, shown(row[index])])));
  }

  *iterate(...parameters: unknown[]): IterableIterator<unknown> {
    yield* this.all(...parameters);
  }

  run(...parameters: unknown[]): Changes {
    let changes: number | null = null;
    this.db.queue(this.prepared, this.#values(parameters), (count) => {
      changes = count;
    });
    const { db } = this;
    return {
      get changes() {
        if (changes === null) db.flush();
        return changes ?? 0;
      },
    };
  }

  /** The values in the order of the parameters. */
  #values(given: unknown[]): unknown[] {
    const named = given.find(
      (each) => typeof each === 'object' && each !== null && !(each instanceof Uint8Array),
    ) as Readonly<Record<string, unknown>> | undefined;
    const positions = given.filter((each) => each !== named);
    let position = 0;
    return this.prepared.parameters.map((name, index) => {
      if (this.prepared.tests.has(index)) return named?.[name!] === null ? null : '';
      if (name === null) {
        position += 1;
        return boundOf(positions[position - 1]);
      }
      return boundOf(named?.[name]);
    });
  }
}

/** PostgreSQL has no U+0000 in texts. No row holds one (`textOf`), so only something that is looked for can. */
const boundOf = (value: unknown): unknown => {
  if (value === undefined) throw new RangeError('a parameter of a statement has no value');
  if (typeof value === 'bigint') return value.toString();
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value;
};

/** Bytes lose their class on their way between threads. */
const shown = (value: unknown): unknown =>
  value instanceof Uint8Array && !Buffer.isBuffer(value)
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    : value;
