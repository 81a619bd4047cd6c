import type { Fault } from '../sql/connection.js';
import type { ServerError } from './messages.js';

/** What the server answered to a statement. */
export class PostgresError extends Error {
  /** SQLSTATE, or `CONNECTION`. */
  readonly code: string;

  constructor(
    { code, message, constraint }: ServerError,
    /** The statement, without its values. */
    readonly statement = '',
  ) {
    super(constraint === null ? message : `${message} (${constraint})`);
    this.code = code;
  }
}

/** The connection was lost while a commit was under way, and nobody can say whether it was done. */
export class CommitUnknownError extends Error {}

/** True for an error with which the server ends the connection, or that is the end of it. */
export const isLoss = (code: string): boolean => /^(CONNECTION$|08|57P|25P03|25006)/.test(code);

/** Faults by the code's beginning; the longest one counts. */
const FAULTS: readonly (readonly [RegExp, Fault])[] = [
  [/^23505$/, 'taken'],
  [/^(40001|40P01|55P03)$/, 'busy'],
  [/^53100$/, 'full'],
  [/^XX00[12]$/, 'corrupt'],
  [/^(CONNECTION$|08|53|57|58|25006|25P03|28|3D)/, 'failed'],
];

/** Null for an error that is none of the server, and for one that only a bug of this program explains. */
export function faultOfPostgres(error: unknown): Fault | null {
  if (error instanceof CommitUnknownError) return 'failed';
  if (!(error instanceof PostgresError)) return null;
  return FAULTS.find(([pattern]) => pattern.test(error.code))?.[1] ?? null;
}
