import { sweepSignals } from '../../actors/maintenance/coordination.js';
import { instantFromMs } from '../../protocol/base/time.js';
import { SWEEP_MS } from '../../protocol/coordination/limits.js';
import type { Duty } from './duty.js';

/** Removes signals that expired. A clock that is ahead would remove those that live. */
const signals: Duty = {
  ...{ name: 'signals', every: SWEEP_MS, first: SWEEP_MS / 4, needs: ['clock'] },
  run:
    ({ store, peerId, clock }) =>
    async () =>
      (await sweepSignals(store, peerId, instantFromMs(clock.nowMs()))) ? { afterMs: 0 } : null,
};

/** What the home of signals, checkpoints and routines does by itself. */
export const COORDINATION_DUTIES: readonly Duty[] = [signals];
