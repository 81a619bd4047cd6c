import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { Clock } from '../../protocol/base/seams.js';
import { rowsOf } from '../../protocol/kinds/find.js';
import { erasureKind } from '../../protocol/memory/erasure-kind.js';
import type { CallOptions, Store } from '../../storage/port.js';

/** Erased memories that are finished together. */
const BATCH = 500;

interface Parts {
  readonly store: Pick<Store, 'execute' | 'query'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Removes the files of the home that were written of memories. Answers why it could not; null where it did. */
  readonly removeFiles: (ids: readonly string[]) => string | null;
}

/** Whether a node has finished its erasures: one that waits needs other nodes to end actions that hold a text. */
export type ErasureProgress = 'done' | 'waits' | 'busy';

/**
 * Finishes erasures on this node: takes away what other rows say of the memories, overwrites what was freed, and notes
 * that it is done. `busy` when the time was over before all of it was, or others held the file.
 */
export async function finishErasures(
  { store, clock, removeFiles }: Parts,
  now: string,
  budgetMs: number,
  options: CallOptions = { lane: 'background' },
): Promise<Result<ErasureProgress>> {
  const untilMs = clock.monotonicMs() + budgetMs;
  let waiting = 0;
  for (;;) {
    const found = await store.query(
      {
        ...{ kind: 'find-records', of: erasureKind.name, viewer: null, now },
        ...{ where: { finished_at: null }, order: { by: 'finished_at' }, limit: BATCH, skip: waiting },
      },
      options,
    );
    if (!found.ok) return failed(found.error);
    const ids = rowsOf(erasureKind, found.value).map(({ memory_id }) => memory_id);
    if (ids.length === 0) return ok(waiting > 0 ? 'waits' : 'done');
    const cleared = await store.execute({ kind: 'clear-erased', ids }, options);
    if (!cleared.ok) return failed(cleared.error);
    const kept = removeFiles(ids);
    if (kept !== null) return fail('UNAVAILABLE', `a file of an erased memory could not be removed: ${kept}`);
    const done = cleared.value.cleared;
    waiting += ids.length - done.length;
    if (done.length === 0) continue;
    for (let isWiped = false; !isWiped; ) {
      const wiped = await store.execute({ kind: 'wipe-freed' }, options);
      if (!wiped.ok) return failed(wiped.error);
      isWiped = wiped.value.done;
      if (!isWiped && clock.monotonicMs() >= untilMs) return ok('busy');
    }
    const noted = await store.execute({ kind: 'note-erasures', ids: done }, options);
    if (!noted.ok) return failed(noted.error);
  }
}
