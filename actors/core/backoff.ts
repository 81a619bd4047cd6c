/** Exponential back-off with jitter. */
export interface BackoffPolicy {
  /** Delay before the first retry, before jitter. */
  readonly initialMs: number;
  /** Growth with each attempt, at least 1; default 2. */
  readonly factor?: number;
  /** The longest delay. */
  readonly maxMs: number;
  /** Share of the delay that the random part may take away, 0 to 1: 0 is exact, 1 draws from the whole interval. */
  readonly jitter: number;
  /** After this much time without trouble the next failure counts as the first again. */
  readonly stableMs: number;
}

/**
 * Milliseconds to wait before retry number `attempt` (0 is the first). `unit` is a random number from [0, 1)
 * (`Random.unit()`). The result lies in ((1 - jitter) · d, d] with d = min(maxMs, initialMs · factor^attempt).
 */
export const backoffDelayMs = (policy: BackoffPolicy, attempt: number, unit: number): number => {
  const grown = policy.initialMs * (policy.factor ?? 2) ** attempt;
  // A zero start times an overflowed factor is NaN, which must not reach a timer.
  const delayMs = policy.initialMs === 0 ? 0 : Math.min(policy.maxMs, grown);
  return Math.round(delayMs * (1 - policy.jitter * unit));
};

/** The number of the attempt that follows a failure after `uptimeMs` without trouble. */
export const nextAttempt = (policy: BackoffPolicy, attempt: number, uptimeMs: number): number =>
  uptimeMs >= policy.stableMs ? 0 : attempt + 1;
