import { HOOK_LOOKUPS_AT_ONCE } from '../../actors/hooks/limits.js';
import type { Instant, MemoryId } from '../../protocol/base/meanings.js';
import { type Failure, failed, ok, type Result } from '../../protocol/base/result.js';
import type { Viewer } from '../../protocol/base/viewer.js';
import type { MemoryRow } from '../../protocol/memory/memory.js';
import type { ReadStore } from '../../storage/port.js';

interface Looking {
  readonly store: Pick<ReadStore, 'query'>;
  readonly viewer: Viewer;
  readonly now: Instant;
}

/** True where a failure says that the viewer sees no such memory. Every other one says nothing about the memory. */
export const isNotSeen = ({ code }: Failure): boolean =>
  code === 'NOT_FOUND' || code === 'AMBIGUOUS_ID_PREFIX';

/** The memory that an id or a prefix names; null where the viewer sees none. */
export async function seenMemory(
  { store, viewer, now }: Looking,
  id: string,
): Promise<Result<MemoryRow | null>> {
  const found = await store.query({ kind: 'get-memory', id, linksMax: 0, viewer, now });
  if (found.ok) return ok(found.value.memory);
  return isNotSeen(found.error) ? ok(null) : failed(found.error);
}

/** The same for many ids, in their order; a few are looked up at a time. */
export async function seenMemories(
  looking: Looking,
  ids: readonly MemoryId[],
): Promise<Result<readonly (MemoryRow | null)[]>> {
  const rows: (MemoryRow | null)[] = [];
  for (let at = 0; at < ids.length; at += HOOK_LOOKUPS_AT_ONCE) {
    const few = ids.slice(at, at + HOOK_LOOKUPS_AT_ONCE);
    for (const found of await Promise.all(few.map((id) => seenMemory(looking, id)))) {
      if (!found.ok) return failed(found.error);
      rows.push(found.value);
    }
  }
  return ok(rows);
}
