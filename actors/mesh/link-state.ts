import { type BackoffPolicy, backoffDelayMs } from '../core/backoff.js';

/** Why a delivery failed, in types that no peer chooses (reference-federation §4.2, #2671). */
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
  'internal',
  'other',
] as const;
export type RefusalCause = (typeof REFUSAL_CAUSES)[number];

/**
 * probing: nothing is known yet. healthy: the last message was answered. suspect: some were not. cut: many in a row
 * were not, or the other side is not who it should be; looked at again at leisure.
 */
export type PeerState = 'probing' | 'healthy' | 'suspect' | 'cut';

/** What is known of a peer's reachability and willingness. */
export interface LinkState {
  readonly state: PeerState;
  /** Failures in a row of any kind; decides the wait and the state. */
  readonly failures: number;
  /** Failed deliveries of what is owed now that count against it; unlike failures they survive a probe. */
  readonly attempts: number;
  readonly quarantined: boolean;
  readonly cause: Cause | null;
}

export const FRESH_LINK: LinkState = {
  state: 'probing',
  failures: 0,
  attempts: 0,
  quarantined: false,
  cause: null,
};

/** What happened to a link. */
export type LinkEvent =
  /** A message was answered as it should be. `progress`: the peer durably has more of ours than before. */
  | { readonly kind: 'answered'; readonly progress: boolean }
  | { readonly kind: 'failed'; readonly cause: Cause; readonly delivery: boolean }
  /** A sign of life, or of change: look again now. */
  | { readonly kind: 'heard' }
  /** It runs another release than when it refused, or something else is offered. */
  | { readonly kind: 'offer-again' };

/** This many failures in a row, and a peer is cut. */
export const FAILURES_UNTIL_CUT = 4;
/** This many failed deliveries of the same operations, and they are put aside. */
export const ATTEMPTS_MAX = 100;

/** Failures that say nothing about what was sent. */
const FREE: ReadonlySet<Cause> = new Set(['throttled', 'overloaded', 'unreachable', 'untrusted']);

/** The next state of a link. Pure. */
export function nextLink(link: LinkState, event: LinkEvent): LinkState {
  switch (event.kind) {
    case 'answered':
      return event.progress
        ? { state: 'healthy', failures: 0, attempts: 0, quarantined: false, cause: null }
        : { ...link, state: 'healthy', failures: 0, cause: link.attempts > 0 ? link.cause : null };
    case 'failed': {
      const failures = link.failures + 1;
      const attempts = link.attempts + (event.delivery && !FREE.has(event.cause) ? 1 : 0);
      return {
        state: stateAfter(failures, event.cause),
        failures,
        attempts,
        quarantined: attempts >= ATTEMPTS_MAX,
        cause: event.cause,
      };
    }
    case 'heard':
      // Its failures are kept until it has answered: one genuine message does not mean that it can be reached.
      return link.state === 'cut' ? { ...link, state: 'suspect' } : link;
    case 'offer-again':
      return { ...link, attempts: 0, quarantined: false };
  }
}

function stateAfter(failures: number, cause: Cause): PeerState {
  if (cause === 'untrusted') return 'cut';
  // Somebody who asks for patience, or refuses, is there.
  if (cause === 'throttled' || cause === 'overloaded' || cause.startsWith('refused:')) return 'suspect';
  return failures >= FAILURES_UNTIL_CUT ? 'cut' : 'suspect';
}

/** One quick second try, then longer and longer; short enough that a node that returns is met within seconds. */
const UNREACHABLE: BackoffPolicy = { initialMs: 250, maxMs: 3000, jitter: 0.5, stableMs: 0 };
/** A peer that answers and refuses, or is busy, gets more time each time. */
const REFUSED: BackoffPolicy = { initialMs: 250, maxMs: 30_000, jitter: 0.5, stableMs: 0 };
const BUSY: BackoffPolicy = { initialMs: 100, maxMs: 5000, jitter: 0.5, stableMs: 0 };

/** Milliseconds until the next try; `unit` is a draw from [0, 1). */
export function waitAfter(link: LinkState, unit: number): number {
  const { cause, failures, attempts } = link;
  if (cause === null || failures === 0) return 0;
  const busy = cause === 'throttled' || cause === 'overloaded';
  const policy = busy ? BUSY : cause.startsWith('refused:') ? REFUSED : UNREACHABLE;
  // A peer that answers before it refuses again has no failures in a row, but as many attempts.
  return backoffDelayMs(policy, Math.max(failures, attempts) - 1, unit);
}
