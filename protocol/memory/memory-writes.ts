import type { Remove, Write } from '../decide/mutations.js';
import { NO_REST } from '../kinds/payload.js';
import type { Memory, MemoryRow } from './memory.js';
import { ERASURE, type MemoryImage, memoryKind } from './memory-kind.js';

/** Inserts the row of a memory; when a removed memory comes back, `memory.seen` is its tombstone's vector. */
export function insertMemory(memory: Memory, word: 'store' | 'restore' = 'store'): Write<Memory> {
  const { id, namespace, seen } = memory;
  return { mutation: 'write', kind: memoryKind.name, word, id, namespace, seen, before: null, image: memory };
}

/** Replaces the row of a memory. */
export function replaceMemory(
  before: Memory,
  memory: Memory,
  how: { readonly word?: 'update' | 'promote' | 'life'; readonly reembed: boolean; readonly lifeAt?: string },
): Write<Memory> {
  const { word = 'update', ...rest } = how;
  const { id, namespace, seen } = memory;
  return {
    ...{ mutation: 'write', kind: memoryKind.name, word, id, namespace, seen, before, image: memory },
    ...rest,
  };
}

/** Removes a memory; `archive` keeps a full copy in the archives of all nodes. */
export function removeMemory(
  row: MemoryRow,
  { word, reason, archive }: { readonly word: string; readonly reason: string; readonly archive: boolean },
): Remove<MemoryRow> {
  const { id, namespace, seen, title, expires_at, version } = row;
  const facts = { title, expires_at, version, rest: NO_REST };
  return {
    ...{ mutation: 'remove', kind: memoryKind.name, word, id, namespace, seen },
    ...{ before: row, reason, facts, keepCopy: archive },
  };
}

/** Erases a memory: `copy` is its row, or the last copy where it has none, for those who judge the change. */
export function eraseMemory(
  { id, namespace, seen }: Pick<Memory, 'id' | 'namespace' | 'seen'>,
  copy: MemoryRow | null,
): Remove<MemoryRow> {
  return {
    ...{ mutation: 'remove', kind: memoryKind.name, word: 'erase', id, namespace, seen },
    ...{ before: copy, ...ERASURE, keepCopy: false },
  };
}

/** True for a mutation that writes or removes memories in a namespace; `life` only counts reads. */
export function writesMemoriesOf(mutation: { readonly mutation: string }, namespace: string): boolean {
  if (mutation.mutation !== 'write' && mutation.mutation !== 'remove') return false;
  const { kind, word, image, before } = mutation as Write<MemoryImage>;
  if (kind !== memoryKind.name || word === 'life') return false;
  return image?.namespace === namespace || before?.namespace === namespace;
}
