import { GC_BATCH_MAX, GC_INTERVAL_MS } from '../../protocol/limits.js';
import type { Store } from '../../storage/port.js';
import type { NextRound } from './loop.js';

/**
 * One round of garbage collection: removes what has expired, a bounded batch in each transaction, in the background
 * lane (interface §3). Readers hide expired rows anyway, so a late round shows nowhere.
 */
export async function expiryRound(store: Store, archive: boolean): Promise<NextRound> {
  const result = await store.execute(
    { kind: 'expire-memories', limit: GC_BATCH_MAX, archive },
    { lane: 'background' },
  );
  if (!result.ok) {
    // Overload, a full disk or a restart: nothing is lost by trying again later.
    return { afterMs: GC_INTERVAL_MS / 30 };
  }
  return { afterMs: result.value.more ? 0 : GC_INTERVAL_MS };
}
