import type { Details, DetailsOf } from './error-details.js';
import type { ErrorCode } from './errors.js';
import type { Origin } from './meanings.js';

/** An expected failure: a stable code from the error table, a sentence for people, and data for programs. */
export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  /** Extra JSON fields of the error body, such as `existing_id`; made by `failure`, read by `detailsOf`. */
  readonly details?: Details;
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

/** A failure with the details of its code. */
export const failure = <C extends ErrorCode>(code: C, message: string, details?: DetailsOf<C>): Failure =>
  details === undefined ? { code, message } : { code, message, details: details as unknown as Details };

export const fail = <C extends ErrorCode>(code: C, message: string, details?: DetailsOf<C>): Result<never> =>
  failed(failure(code, message, details));

/** Passes a failure on under another value type. */
export const failed = <T = never>(error: Failure): Result<T> => ({ ok: false, error });

/** A failure of the later part of some work: how much of it stays done. */
export const failedAfter = (done: number, { details, ...error }: Failure): Result<never> =>
  failed({ ...error, details: { ...details, done } as unknown as Details });

/** When a refused request can be repeated, in seconds, whatever its code; null where the failure does not say it. */
export function retryAfterOf({ details }: Failure): number | null {
  const { retry_after_secs: seconds } = (details ?? {}) as { readonly retry_after_secs?: unknown };
  return typeof seconds === 'number' ? seconds : null;
}

/** The details of a failure with one of the codes; null for another failure, and for one without details. */
export function detailsOf<C extends ErrorCode>(
  { code, details }: Failure,
  ...codes: readonly C[]
): DetailsOf<C> | null {
  return details === undefined || !codes.includes(code as C) ? null : (details as unknown as DetailsOf<C>);
}
