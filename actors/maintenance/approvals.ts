import { PENDING_SWEEP_MS, PENDINGS_SWEPT_MAX } from '../../protocol/limits.js';
import type { Store } from '../../storage/port.js';
import type { NextRound } from '../core/loop.js';

/**
 * One round over the actions that wait: the home counts votes that came from other nodes, and ends actions that waited too
 * long. An action whose command fails now is tried again in the next round, until it expires.
 */
export async function approvalsRound(store: Store): Promise<NextRound> {
  const waiting = await store.query({ kind: 'undecided-pendings', limit: PENDINGS_SWEPT_MAX });
  if (!waiting.ok) return { afterMs: PENDING_SWEEP_MS };
  for (const pendingId of waiting.value.ids) {
    await store.execute({ kind: 'settle-pending', pendingId }, { lane: 'background' });
  }
  return { afterMs: PENDING_SWEEP_MS };
}
