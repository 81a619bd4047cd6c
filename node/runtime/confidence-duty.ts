import { OBSERVATIONS_BATCH_MAX, OBSERVATIONS_PRUNE_INTERVAL_MS } from '../../protocol/base/ledger-limits.js';
import { instantAfter, instantFromMs } from '../../protocol/base/time.js';
import type { Duty } from './duty.js';

const DAY_SECONDS = 86_400;

/** Forgets observed confidences that are too old. */
export const confidenceObservations: Duty = {
  ...{
    name: 'confidence-observations',
    every: OBSERVATIONS_PRUNE_INTERVAL_MS,
    first: 15_000,
    needs: ['clock'],
  },
  run:
    ({ store, settings: { confidenceShadowDays: days }, clock }) =>
    async () => {
      if (days === null) return null;
      const before = instantAfter(instantFromMs(clock.nowMs()), -days * DAY_SECONDS);
      const pruned = await store.execute(
        { kind: 'prune-confidence', before, limit: OBSERVATIONS_BATCH_MAX },
        { lane: 'background' },
      );
      return pruned.ok && pruned.value.more ? { afterMs: 0 } : null;
    },
};
