import { REMOVE_BATCH_MAX } from '../../protocol/base/limits.js';
import { failed, ok, type Result } from '../../protocol/base/result.js';
import type { CallOptions, Store } from '../../storage/port.js';

/**
 * Unpins the memories of standards that were removed, at most a batch of them; the next garbage collection continues
 * (reference-http §2.2). Answers how many. A damaged standard waits for its repair.
 */
export async function unpinRemoved(
  store: Pick<Store, 'execute' | 'query'>,
  options?: CallOptions,
): Promise<Result<number>> {
  const found = await store.query({ kind: 'removed-standards', limit: REMOVE_BATCH_MAX });
  if (!found.ok) return failed(found.error);
  let unpinned = 0;
  for (const namespace of found.value.namespaces) {
    const done = await store.execute({ kind: 'unpin-removed', namespace }, options);
    if (done.ok) unpinned += Number(done.value.unpinned);
    else if (done.error.code !== 'DATA_DAMAGED') return failed(done.error);
  }
  return ok(unpinned);
}
