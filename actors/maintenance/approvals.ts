import {
  PENDING_KEPT_SECONDS,
  PENDING_SECONDS_MAX,
  PENDING_SWEEP_MS,
  PENDINGS_DROPPED_MAX,
  PENDINGS_SWEPT_MAX,
} from '../../protocol/base/limits.js';
import type { Clock } from '../../protocol/base/seams.js';
import { instantAfter, instantFromMs } from '../../protocol/base/time.js';
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

/**
 * Removes actions that were decided long ago, and votes on them that came late, at most a batch. Answers whether there may
 * be more; what could not be removed now waits for the next time.
 */
export async function dropDecided(store: Store, clock: Pick<Clock, 'nowMs'>): Promise<boolean> {
  const before = instantAfter(instantFromMs(clock.nowMs()), -PENDING_KEPT_SECONDS);
  const spent = await store.query({ kind: 'spent-pendings', before, limit: PENDINGS_DROPPED_MAX });
  if (!spent.ok) return false;
  const { pendings, votes } = spent.value;
  if (pendings.length + votes.length === 0) return false;
  const done = await store.execute({ kind: 'drop-decided', pendings, votes }, { lane: 'background' });
  return done.ok && done.value.dropped > 0;
}
