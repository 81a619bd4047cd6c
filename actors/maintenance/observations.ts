import { OBSERVATIONS_BATCH_MAX, OBSERVATIONS_PRUNE_INTERVAL_MS } from '../../protocol/base/limits.js';
import type { Store } from '../../storage/port.js';
import type { NextRound } from '../core/loop.js';

/**
 * One round of trimming the ledger of recalls: removes observations from before an instant, a bounded batch in each
 * transaction, in the background lane.
 */
export async function observationsRound(store: Store, before: string): Promise<NextRound> {
  const pruned = await store.execute(
    { kind: 'prune-observations', before, limit: OBSERVATIONS_BATCH_MAX },
    { lane: 'background' },
  );
  return { afterMs: pruned.ok && pruned.value.more ? 0 : OBSERVATIONS_PRUNE_INTERVAL_MS };
}
