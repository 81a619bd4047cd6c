import type { Result } from '../../protocol/base/result.js';
import type { SelfCheckPage } from '../port.js';
import type { AuditHeadFile } from './audit-head.js';

/** What a statement changed. */
export interface Changes {
  /** Rows that were inserted, updated or deleted. */
  readonly changes: number;
}

/** A prepared statement. Parameters are positions (`?`), or one object with the named ones (`@name`). */
export interface Statement<P extends readonly unknown[] = unknown[], R = unknown> {
  get(...parameters: P): R | undefined;
  all(...parameters: P): R[];
  iterate(...parameters: P): IterableIterator<R>;
  run(...parameters: P): Changes;
  /** Makes the statement answer the first column of its rows. */
  pluck(): this;
  /** Makes the statement answer its rows as lists of columns. */
  raw(): this;
}

/**
 * What an error of the database means: another process holds the lock (`busy`), there is no room (`full`), what is stored is
 * damaged (`corrupt`), the disk or the server failed (`failed`), or a row with this key exists (`taken`).
 */
export type Fault = 'busy' | 'full' | 'corrupt' | 'failed' | 'taken';

/** How the graph can be read: by recursive queries alone, or by Cypher over a projection of the links as well. */
export type GraphEngine = 'cte' | 'age+cte';

/** An open database, whichever engine it has. Synchronous: the caller waits, in a thread that may. */
export interface Connection {
  readonly engine: 'sqlite' | 'postgres';
  prepare<P extends unknown[] | object = unknown[], R = unknown>(
    sql: string,
  ): P extends unknown[] ? Statement<P, R> : Statement<[P], R>;
  exec(sql: string): unknown;
  /** The same work as one transaction: it is rolled back when it throws. */
  transaction<A extends unknown[], T>(work: (...given: A) => T): (...given: A) => T;
  readonly inTransaction: boolean;
  /** Begins a transaction beside which nobody else writes. Throws an error of the fault `busy` when the lock is not free. */
  beginWrite(): void;
  /**
   * Says that a read will be asked soon, inside the transaction that writes: a server is asked together with others. Nothing
   * where the database is in this process.
   */
  ahead(statement: Statement<never[]>, ...parameters: readonly unknown[]): void;
  /** Says that the transaction will probably add memories, so their numbers need not be asked of each insertion. */
  expectMemories(): void;
  /** The number for the next memory of this transaction; null when the insertion gives it. */
  nextRid(): number | null;
  /** Null for an error that is none of the database: a bug. */
  faultOf(error: unknown): Fault | null;
  /** The answer for an error of the database; any other error is thrown. */
  failureOf(error: unknown): Result<never>;
  /** Why nothing may be written now; null when it may. */
  refusalOfWrites(nowMs: number): Result<never> | null;
  /** Makes room after the fault `full`; true when a write may be tried again. */
  makeRoom(nowMs: number): boolean;
  /** A value that changes with the commits of others. */
  othersCommits(): unknown;
  /**
   * An insertion of one row that answers the number which the row gets in a column. (With RETURNING, SQLite opens a savepoint for
   * the statement, at which the full text writes what it holds: a third slower in groups.)
   */
  insertion(sql: string, column: string): (...values: readonly unknown[]) => number;
  /** The last number that a numbered column ever gave, also when its row is gone; 0 before the first. */
  lastNumberOf(table: string, column: string): number;
  /** Lets the next number be a higher one than this. */
  setLastNumber(table: string, column: string, last: number): void;
  /** Asks the database; the answer changes with its extensions and the rights of its role. */
  graphEngine(): GraphEngine;
  /** Overwrites a part of what was freed; false asks for another round. Outside a transaction. */
  wipeFreed(): boolean;
  /** What the database takes on its disk. */
  sizeBytes(): number;
  /** The part of it that rows take, while the rest waits for new ones; null where the engine does not say it. */
  usedBytes(): number | null;
  /** One page of the engine's check of its own structures. */
  selfCheck(after: string | null): SelfCheckPage;
  /** Where the ends of the audit chain are kept; null for a database that is gone with its process. */
  readonly auditHeads: AuditHeadFile | null;
  readonly texts: TextRows;
  close(): unknown;
}

/** What the full text holds for one row. */
export interface TextRow {
  readonly rid: number;
  readonly title: string;
  readonly content: string;
  readonly tags: string;
  /** The namespace as a word. */
  readonly nst: string;
}

/** The rows of the full text. */
export interface TextRows {
  insert(row: TextRow): void;
  /** Puts it in the place of the row with its number, if there is one. */
  replace(row: TextRow): void;
}
