import type { ErrorCode } from './errors.js';
import type { Origin } from './meanings.js';

/** An expected failure: a stable code from the error table, a sentence for people, and data for programs. */
export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  /** Extra JSON fields of the error body, such as `existing_id`; never a secret. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Operations that a write appended to its database's own log, `first` to `last`. */
export interface Appended {
  readonly origin: Origin;
  readonly first: number;
  readonly last: number;
}

/** The outcome of anything that may fail in an expected way. Plain data, so it crosses threads. */
export type Result<T> =
  | {
      readonly ok: true;
      readonly value: T;
      /** Set only by a store, for a command that appended operations. */
      readonly appended?: Appended;
    }
  | { readonly ok: false; readonly error: Failure };

export const ok = <T>(value: T): Result<T> => ({ ok: true, value });

export const fail = <T = never>(
  code: ErrorCode,
  message: string,
  details?: Record<string, unknown>,
): Result<T> => ({
  ok: false,
  error: details === undefined ? { code, message } : { code, message, details },
});

/** Passes a failure on under another value type. */
export const failed = <T = never>(error: Failure): Result<T> => ({ ok: false, error });
