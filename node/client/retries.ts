import { type BackoffPolicy, backoffDelayMs } from '../../actors/core/backoff.js';
import type { MnemeshError } from './client-error.js';

const BACKOFF: BackoffPolicy = { initialMs: 200, maxMs: 5000, jitter: 0.5, stableMs: 0 };
/** A node that wants the call later than this gets no further try. */
const WAIT_MS_MAX = 30_000;

/** Failures before the node began with the call. */
const NOT_BEGUN: ReadonlySet<string> = new Set(['SHUTTING_DOWN', 'AUTH_BACKOFF']);
/** Failures that another try can mend, of calls that may have been done. */
const MENDED_LATER: ReadonlySet<string> = new Set([
  ...['UNAVAILABLE', 'OVERLOADED', 'ACTOR_RESTARTED', 'HOME_UNREACHABLE', 'DATABASE_IN_USE'],
]);
/** Failures that do not say whether a write was done. */
const UNKNOWN: ReadonlySet<string> = new Set([
  ...['UNAVAILABLE', 'ACTOR_RESTARTED', 'HOME_UNREACHABLE', 'DEADLINE', 'REQUEST_TIMEOUT', 'INTERNAL'],
]);

/** Whether a write that failed with this code may have been done. */
export const leavesOutcomeUnknown = (code: string): boolean => UNKNOWN.has(code);

/** What a try came to, as far as another one is concerned. */
export interface FailedTry {
  readonly error: MnemeshError;
  /** True where the request surely did not reach the node. */
  readonly isUnsent: boolean;
}

/** The error of an admission that was refused, before anything was done. */
const isShed = ({ code, details }: MnemeshError): boolean =>
  code === 'OVERLOADED' && typeof details['max_inflight'] === 'number';

/**
 * How long to wait before the next try; null where there is none. A call that is not `repeatable` is sent again only
 * where nothing can have been done.
 */
export function retryDelayMs(
  { error, isUnsent }: FailedTry,
  call: { readonly isRepeatable: boolean; readonly tries: number; readonly unit: number },
): number | null {
  const isSafe = isUnsent || NOT_BEGUN.has(error.code) || isShed(error);
  if (!isSafe && !(call.isRepeatable && MENDED_LATER.has(error.code))) return null;
  const wantedMs = (error.retryAfterSeconds ?? 0) * 1000;
  if (wantedMs > WAIT_MS_MAX) return null;
  return Math.max(wantedMs, backoffDelayMs(BACKOFF, call.tries, call.unit));
}
