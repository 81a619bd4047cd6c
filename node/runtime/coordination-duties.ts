import { LeaseTerms } from '../../actors/coordination/leases.js';
import { expireCheckpoints, sweepRuns, sweepSignals } from '../../actors/coordination/signals.js';
import { sweepActions } from '../../actors/coordination/sweep.js';
import { ACTION_SWEEP_MS, LEASE_ROUND_MS } from '../../protocol/base/limits.js';
import { instantAfter, instantFromMs } from '../../protocol/base/time.js';
import { DEADLINES_MS, SWEEP_MS } from '../../protocol/coordination/limits.js';
import type { Duty } from './duty.js';

const DAY_SECONDS = 86_400;

/** Removes signals that expired. A clock that is ahead would remove those that live. */
const signals: Duty = {
  ...{ name: 'signals', every: SWEEP_MS, first: SWEEP_MS / 4, needs: ['clock'] },
  run:
    ({ store, peerId, clock }) =>
    async () =>
      (await sweepSignals(store, peerId, instantFromMs(clock.nowMs()))) ? { afterMs: 0 } : null,
};

/** Ends leases whose terms have passed; it counts on the monotonic clock alone. */
const leases: Duty = {
  ...{ name: 'leases', every: LEASE_ROUND_MS, needs: [], wokenBy: ['ownership'] },
  run: ({ store, clock }) => {
    const terms = new LeaseTerms(store, clock);
    return () => terms.round();
  },
};

/** Removes finished actions, and runs of routines. A clock that is ahead would take those of today for old ones. */
const actions: Duty = {
  ...{ name: 'actions', every: ACTION_SWEEP_MS, first: 20_000, needs: ['clock'] },
  run:
    ({ store, peerId, settings, clock }) =>
    async () => {
      const seconds = settings.actionKeptDays * DAY_SECONDS;
      const before = instantAfter(instantFromMs(clock.nowMs()), -seconds);
      await sweepActions(store, before);
      return (await sweepRuns(store, peerId, before)) ? { afterMs: 0 } : null;
    },
};

/** Ends checkpoints whose deadline has passed: a deadline is a date, so the wall clock decides. */
const deadlines: Duty = {
  ...{ name: 'deadlines', every: DEADLINES_MS, first: DEADLINES_MS / 5, needs: ['clock'] },
  run:
    ({ store, peerId, clock }) =>
    async () =>
      (await expireCheckpoints(store, peerId, instantFromMs(clock.nowMs()))) ? { afterMs: 0 } : null,
};

/** What the home of actions, leases, signals and checkpoints does by itself. */
export const COORDINATION_DUTIES: readonly Duty[] = [signals, leases, actions, deadlines];
