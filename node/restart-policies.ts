import type { RestartPolicy } from '../actors/core/restart-policy.js';

/** A node cannot work without storage: when storage keeps failing, the node ends with an exit code. */
export const STORAGE_POLICY: RestartPolicy = {
  restartsMax: 5,
  windowMs: 60_000,
  backoff: { initialMs: 50, maxMs: 2000, jitter: 0.5, stableMs: 10_000 },
  immediateRestarts: 1,
  whenSpent: { kind: 'escalate' },
};

/** Every other part degrades a capability, reports that, and tries again with a longer window. */
export const BACKGROUND_POLICY: RestartPolicy = {
  restartsMax: 5,
  windowMs: 60_000,
  backoff: { initialMs: 200, maxMs: 10_000, jitter: 0.5, stableMs: 30_000 },
  whenSpent: {
    kind: 'degrade',
    backoff: { initialMs: 30_000, maxMs: 300_000, jitter: 0.5, stableMs: 60_000 },
  },
};
