/** How a connection reaches its server. The URL may hold a password, so nothing prints this. */
export interface PostgresPlace {
  readonly url: string;
  /** Milliseconds that one statement may take; 0 for any time. */
  readonly statementTimeoutMs: number;
}

/** The start data of the thread that speaks with the server for one connection. */
export interface PostgresThreadData {
  readonly place: PostgresPlace;
  readonly readOnly: boolean;
  /** Rises with each answer; the connection waits for it. */
  readonly answered: Int32Array;
}

/** A statement to run; `text` comes with its first use. */
export interface Run {
  readonly statement: number;
  readonly text?: string;
  readonly values: readonly unknown[];
  /** Its rows are answered. */
  readonly wanted?: true;
  /** Reads a part of the rows; the others stay at the server, under the name, until its transaction ends. */
  readonly part?: { readonly name: string; readonly rows: number; readonly isFirst: boolean };
}

export type Rows = readonly (readonly unknown[])[];

/** Statements that the server gets together, in their order. */
export type Asking = ({ readonly runs: readonly Run[] } | { readonly script: string }) & {
  /** True within a transaction that has begun: they may only run on its connection. */
  readonly continues: boolean;
  /** Its reply has the same number, so an answer that comes too late is taken for no other one. */
  readonly number: number;
};

/** The end of a transaction that only read, for which nobody waits. */
export interface Ending {
  readonly ending: Run;
}

/** Nobody waits any longer for the answer with this number. */
export interface GivingUp {
  readonly givenUp: number;
}

/** What is asked; or the order to look whether the server is still there. */
export type Request = Asking | Ending | GivingUp | 'look' | 'close';

/** An error of the server, or of the way to it, which has the code `CONNECTION`. */
export interface ServerError {
  readonly code: string;
  readonly message: string;
  readonly constraint: string | null;
}

/** The rows of each statement that wants them, and how many rows each one changed. */
export interface Reply {
  readonly rows: readonly (Rows | undefined)[];
  /** The columns of statements that ran for the first time on a connection to the server. */
  readonly columns?: readonly (readonly [statement: number, names: readonly string[]])[];
  readonly counts: readonly number[];
  /** Of the request. */
  readonly number?: number;
  /** The first error; statements behind it have changed nothing. */
  readonly error?: ServerError;
  /** The place of the statement that failed. */
  readonly failed?: number;
}
