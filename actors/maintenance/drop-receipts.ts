import { REMOVE_BATCH_MAX } from '../../protocol/base/limits.js';
import { failed, ok, type Result } from '../../protocol/base/result.js';
import type { CallOptions, Store } from '../../storage/port.js';

/**
 * Drops the receipts of messages that are gone, at most a batch of them; the next garbage collection continues. Answers
 * how many. A damaged receipt waits for its repair.
 */
export async function dropReceipts(
  store: Pick<Store, 'execute' | 'query'>,
  options?: CallOptions,
): Promise<Result<number>> {
  const found = await store.query({ kind: 'spent-receipts', limit: REMOVE_BATCH_MAX });
  if (!found.ok) return failed(found.error);
  const { ids } = found.value;
  if (ids.length === 0) return ok(0);
  const done = await store.execute({ kind: 'drop-receipts', ids }, options);
  if (done.ok) return ok(done.value.dropped);
  return done.error.code === 'DATA_DAMAGED' ? ok(0) : failed(done.error);
}
