import { OBSERVATIONS_BATCH_MAX, OBSERVATIONS_PRUNE_INTERVAL_MS } from '../../protocol/base/ledger-limits.js';
import type { Store } from '../../storage/port.js';
import type { NextRound } from '../core/loop.js';

/**
 * One round of trimming the ledger of recalls: removes observations from before an instant, a bounded batch in each
 * transaction, in the background lane, and what others kept that is not to be kept any more.
 */
export async function observationsRound(
  store: Store,
  before: string,
  keepsTrace: boolean,
): Promise<NextRound> {
  const pruned = await store.execute(
    {
      kind: 'prune-observations',
      before,
      limit: OBSERVATIONS_BATCH_MAX,
      ...(keepsTrace ? {} : { untraced: true }),
    },
    { lane: 'background' },
  );
  return { afterMs: pruned.ok && pruned.value.more ? 0 : OBSERVATIONS_PRUNE_INTERVAL_MS };
}
