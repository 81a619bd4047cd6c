import { type BackoffPolicy, backoffDelayMs } from '../core/backoff.js';

/** Why a delivery failed, in values that no peer chooses (reference-federation §4.2, #2671). */
export type Cause =
  | 'unreachable'
  | 'timeout'
  | 'untrusted'
  | 'throttled'
  | 'overloaded'
  | 'rubbish'
  | `refused:${RefusalCause}`;

export const REFUSAL_CAUSES = [
  'gap',
  'fork',
  'clock_skew',
  'own_ahead',
  'bad_chain',
  'unknown_origin',
  'unauthorised',
  'bad_request',
  'too_large',
  'no_route',
  'internal',
  'other',
] as const;
export type RefusalCause = (typeof REFUSAL_CAUSES)[number];

/**
 * probing: nothing is known yet. healthy: the last message was answered. suspect: some messages were not answered. cut:
 * many in a row were not answered, or the other side has the wrong identity; it is tried again at long intervals.
 */
export type PeerState = 'probing' | 'healthy' | 'suspect' | 'cut';

/** Whether a peer can be reached and accepts what it is sent. */
export interface ConnectionState {
  readonly state: PeerState;
  /** Failures in a row of any kind; they decide the wait and the state. */
  readonly failures: number;
  /** Failed deliveries of what is owed now, where the peer is to blame. Unlike `failures` they survive a probe. */
  readonly attempts: number;
  readonly quarantined: boolean;
  readonly cause: Cause | null;
}

export const FRESH_CONNECTION: ConnectionState = {
  state: 'probing',
  failures: 0,
  attempts: 0,
  quarantined: false,
  cause: null,
};

/** An event on the connection to a peer. */
export type ConnectionEvent =
  /** A message was answered as expected. `progress`: the peer durably has more of ours than before. */
  | { readonly kind: 'answered'; readonly progress: boolean }
  | { readonly kind: 'failed'; readonly cause: Cause; readonly delivery: boolean }
  /** The peer was in contact or has changed: try again now. */
  | { readonly kind: 'contacted' }
  /** The peer runs another release than when it refused, or something else is offered. */
  | { readonly kind: 'offer-again' };

/** After this many failures in a row a peer is cut. */
export const FAILURES_UNTIL_CUT = 4;
/** After this many failed deliveries the same operations are put aside. */
export const ATTEMPTS_MAX = 100;

/** Failures that say nothing about the operations that were sent. */
const FREE: ReadonlySet<Cause> = new Set(['throttled', 'overloaded', 'unreachable', 'untrusted']);

/** The next state of a peer's connection. Pure. */
export function nextState(connection: ConnectionState, event: ConnectionEvent): ConnectionState {
  switch (event.kind) {
    case 'answered':
      return event.progress
        ? { state: 'healthy', failures: 0, attempts: 0, quarantined: false, cause: null }
        : {
            ...connection,
            state: 'healthy',
            failures: 0,
            cause: connection.attempts > 0 ? connection.cause : null,
          };
    case 'failed': {
      const failures = connection.failures + 1;
      const attempts = connection.attempts + (event.delivery && !FREE.has(event.cause) ? 1 : 0);
      return {
        state: stateAfter(failures, event.cause),
        failures,
        attempts,
        quarantined: attempts >= ATTEMPTS_MAX,
        cause: event.cause,
      };
    }
    case 'contacted':
      // Its failures are kept until it has answered: a genuine message does not prove that the peer can be reached.
      return connection.state === 'cut' ? { ...connection, state: 'suspect' } : connection;
    case 'offer-again':
      return { ...connection, attempts: 0, quarantined: false };
  }
}

/** True for what an operator should look at: not for a few messages that a node which starts, ends or is busy did not answer. */
export function isTrouble({ state, quarantined, cause }: ConnectionState): boolean {
  return (
    state === 'cut' || quarantined || cause === 'rubbish' || (cause !== null && cause.startsWith('refused:'))
  );
}

function stateAfter(failures: number, cause: Cause): PeerState {
  if (cause === 'untrusted') return 'cut';
  // A peer that asks for patience, or refuses, can be reached.
  if (cause === 'throttled' || cause === 'overloaded' || cause.startsWith('refused:')) return 'suspect';
  return failures >= FAILURES_UNTIL_CUT ? 'cut' : 'suspect';
}

/** A quick second try, then longer waits; short enough that a node that returns is reached within seconds. */
const UNREACHABLE: BackoffPolicy = { initialMs: 250, maxMs: 3000, jitter: 0.5, stableMs: 0 };
/** A peer that answers but refuses, or is busy, gets more time after each try. */
const REFUSED: BackoffPolicy = { initialMs: 250, maxMs: 30_000, jitter: 0.5, stableMs: 0 };
const BUSY: BackoffPolicy = { initialMs: 100, maxMs: 5000, jitter: 0.5, stableMs: 0 };

/** Milliseconds until the next try; `unit` is a random number from [0, 1). */
export function waitAfter(connection: ConnectionState, unit: number): number {
  const { cause, failures, attempts } = connection;
  if (cause === null || failures === 0) return 0;
  const busy = cause === 'throttled' || cause === 'overloaded';
  const policy = busy ? BUSY : cause.startsWith('refused:') ? REFUSED : UNREACHABLE;
  // A peer that answers between two refusals has no failures in a row, but its attempts add up.
  return backoffDelayMs(policy, Math.max(failures, attempts) - 1, unit);
}
