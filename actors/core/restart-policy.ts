import { type BackoffPolicy, backoffDelayMs, nextAttempt } from './backoff.js';

/** How often and how fast a supervisor restarts one child, and what it does after too many restarts. */
export interface RestartPolicy {
  /** Restarts allowed inside `windowMs`; the failure after that spends the budget. */
  readonly restartsMax: number;
  readonly windowMs: number;
  readonly backoff: BackoffPolicy;
  /** Restarts inside the window without any wait; default 0. */
  readonly immediateRestarts?: number;
  readonly whenSpent:
    | { readonly kind: 'escalate' }
    /** Keep trying, spaced by this (longer) back-off, until the child stays up for its `stableMs`. */
    | { readonly kind: 'degrade'; readonly backoff: BackoffPolicy };
}

/** What the policy remembers of a child between failures. */
export interface FailureHistory {
  /** Instants of the failures that may still count, oldest first (monotonic ms). */
  readonly failuresAtMs: readonly number[];
  /** Number of the last retry in the present back-off; -1 before the first. */
  readonly attempt: number;
  readonly degraded: boolean;
}

export const NO_FAILURES: FailureHistory = { failuresAtMs: [], attempt: -1, degraded: false };

/** One failure of a child. */
export interface ChildFailure {
  /** Monotonic. */
  readonly atMs: number;
  /** How long the child had been running; 0 when it failed to start. */
  readonly uptimeMs: number;
  /** A random number from [0, 1) for the jitter. */
  readonly unit: number;
}

export type RestartDecision =
  | { readonly kind: 'restart-now' }
  | { readonly kind: 'back-off'; readonly delayMs: number }
  | { readonly kind: 'degrade'; readonly delayMs: number }
  | { readonly kind: 'escalate' };

/** Decides what follows a child's failure. Pure; the supervisor executes the decision. */
export const decideRestart = (
  policy: RestartPolicy,
  history: FailureHistory,
  failure: ChildFailure,
): { readonly decision: RestartDecision; readonly history: FailureHistory } => {
  const inWindow = history.failuresAtMs.filter((atMs) => failure.atMs - atMs < policy.windowMs);
  // One entry above the budget is enough to know that it is used up.
  const failuresAtMs = [...inWindow, failure.atMs].slice(-(policy.restartsMax + 1));
  const spent = failuresAtMs.length > policy.restartsMax;

  if (policy.whenSpent.kind === 'degrade') {
    const { backoff } = policy.whenSpent;
    const stillDegraded = history.degraded && failure.uptimeMs < backoff.stableMs;
    if (spent || stillDegraded) {
      const attempt = stillDegraded ? nextAttempt(backoff, history.attempt, failure.uptimeMs) : 0;
      return {
        decision: { kind: 'degrade', delayMs: backoffDelayMs(backoff, attempt, failure.unit) },
        history: { failuresAtMs, attempt, degraded: true },
      };
    }
  } else if (spent) {
    return {
      decision: { kind: 'escalate' },
      history: { failuresAtMs, attempt: history.attempt, degraded: false },
    };
  }

  if (failuresAtMs.length <= (policy.immediateRestarts ?? 0))
    return { decision: { kind: 'restart-now' }, history: { failuresAtMs, attempt: -1, degraded: false } };

  const attempt = history.degraded ? 0 : nextAttempt(policy.backoff, history.attempt, failure.uptimeMs);
  return {
    decision: { kind: 'back-off', delayMs: backoffDelayMs(policy.backoff, attempt, failure.unit) },
    history: { failuresAtMs, attempt, degraded: false },
  };
};
