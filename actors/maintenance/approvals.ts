import { PENDING_SECONDS_MAX, PENDING_SWEEP_MS, PENDINGS_SWEPT_MAX } from '../../protocol/limits.js';
import type { Clock } from '../../protocol/seams.js';
import { instantAfter, instantFromMs } from '../../protocol/time.js';
import type { Store } from '../../storage/port.js';
import type { NextRound } from '../core/loop.js';

/**
 * One round over the actions that wait: the home counts votes that came from other nodes, and ends actions that waited too
 * long. An action whose command fails now is tried again in the next round, until it expires.
 */
export async function approvalsRound(store: Store, clock: Pick<Clock, 'nowMs'>): Promise<NextRound> {
  const requestedBefore = instantAfter(instantFromMs(clock.nowMs()), -PENDING_SECONDS_MAX);
  const asked = { kind: 'undecided-pendings', requestedBefore, limit: PENDINGS_SWEPT_MAX } as const;
  const waiting = await store.query(asked);
  if (!waiting.ok) return { afterMs: PENDING_SWEEP_MS };
  for (const pendingId of waiting.value.ids) {
    await store.execute({ kind: 'settle-pending', pendingId }, { lane: 'background' });
  }
  return { afterMs: PENDING_SWEEP_MS };
}
