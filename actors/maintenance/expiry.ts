import { GC_BATCH_MAX, GC_INTERVAL_MS, REMOVE_BATCH_MAX } from '../../protocol/base/limits.js';
import type { Failure } from '../../protocol/base/result.js';
import type { Store } from '../../storage/port.js';
import type { NextRound } from '../core/loop.js';
import { dropReceipts } from './drop-receipts.js';
import { unpinRemoved } from './unpin-removed.js';

const RETRY_MS = GC_INTERVAL_MS / 30;
const DAMAGED_RETRY_MS = 1000;

/**
 * One round of garbage collection: removes expired memories, unpins removed ones from standards, drops the receipts
 * of removed messages, and purges memories archived at `purgeBefore` or earlier (null: none). It uses a bounded batch in each transaction, in the background lane (interface §3). Readers hide
 * expired rows anyway, so a late round is not visible.
 */
export async function expiryRound(
  store: Store,
  archive: boolean,
  purgeBefore: string | null = null,
): Promise<NextRound> {
  const result = await store.execute(
    { kind: 'expire-memories', limit: GC_BATCH_MAX, archive },
    { lane: 'background' },
  );
  // Overload, a full disk or a restart: trying again later loses nothing.
  if (!result.ok) return { afterMs: retryMs(result.error) };
  if (result.value.more) return { afterMs: 0 };
  const unpinned = await unpinRemoved(store, { lane: 'background' });
  if (!unpinned.ok) return { afterMs: retryMs(unpinned.error) };
  const dropped = await dropReceipts(store, { lane: 'background' });
  if (!dropped.ok) return { afterMs: retryMs(dropped.error) };
  return purgeBefore === null ? { afterMs: GC_INTERVAL_MS } : purgeRound(store, purgeBefore);
}

async function purgeRound(store: Store, before: string): Promise<NextRound> {
  const result = await store.execute(
    {
      kind: 'purge-archive',
      before,
      ownerId: null,
      reason: 'retention',
      limit: REMOVE_BATCH_MAX,
      by: 'system',
    },
    { lane: 'background' },
  );
  if (!result.ok) return { afterMs: retryMs(result.error) };
  return { afterMs: result.value.more ? 0 : GC_INTERVAL_MS };
}

/** A damaged row is marked now, and skipped until it is repaired. */
const retryMs = ({ code }: Failure): number => (code === 'DATA_DAMAGED' ? DAMAGED_RETRY_MS : RETRY_MS);
