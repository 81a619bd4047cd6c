import type { Instant } from '../base/meanings.js';
import type { Reading } from '../decide/reads.js';
import { defineRead } from '../decide/reads.js';
import type { OperationPlace } from '../log/ranges.js';
import type { ArchivedRow, PurgeableRow } from './archived-memory.js';
import type { ForgetFilter } from './forget-filter.js';
import type { MemoryRow } from './memory.js';
import type { MemoryImage } from './memory-kind.js';

/** The part of a memory that reads may move. */
export type MemoryLife = Pick<
  MemoryRow,
  'id' | 'tier' | 'access_count' | 'created_at' | 'last_accessed_at' | 'expires_at' | 'life_at'
>;

/** The last change of a memory in place, as the log records it. */
export interface LastEdit {
  /** The memory before the edit; null when the log no longer holds it. */
  readonly before: MemoryImage | null;
  /** The memory after the edit. */
  readonly after: MemoryImage | null;
}

interface TitleKey {
  readonly title: string;
  readonly namespace: string;
}

/** A memory as its version of a number was; null when it had none, or the log no longer holds it. */
export const imageOfVersion = defineRead<
  { readonly id: string; readonly version: number },
  MemoryImage | null
>('image-of-version');

/** A memory by its exact id, expired or not. */
export const memoryRead = defineRead<{ readonly id: string }, MemoryRow | null>('memory-by-id');
/** The expiry, tier and counters of a memory by its exact id, expired or not. */
export const memoryLife = defineRead<{ readonly id: string }, MemoryLife | null>('memory-life');
/** The current memory of a (title, namespace), expired or not. */
export const titleRead = defineRead<TitleKey, MemoryRow | null>('memory-by-title');
/** When the memory that holds a title expires (null inside: never); null when the title is free. */
export const titleExpiryOf = defineRead<TitleKey, { readonly expires_at: Instant | null } | null>(
  'title-expiry',
);
export const expiredMemories = defineRead<
  { readonly before: string; readonly limit: number },
  readonly MemoryRow[]
>('expired-memories');
/** Memories that go first when the database has reached its limit; none that a standard or a link names. */
export const removableForRoom = defineRead<
  { readonly step: 'expired' | 'short' | 'unused'; readonly unusedSince: Instant; readonly limit: number },
  readonly MemoryRow[]
>('removable-for-room');
export const archivedMemory = defineRead<{ readonly id: string }, ArchivedRow | null>('archived-memory');
/** Archived rows up to an instant, the oldest first. */
export const purgeableMemories = defineRead<
  { readonly before: string; readonly ownerId: string | null; readonly limit: number },
  readonly PurgeableRow[]
>('purgeable-memories');
/** Live rows that match a forget and that its viewer may remove, lowest row number first. */
export const forgettableMemories = defineRead<
  { readonly filter: ForgetFilter; readonly limit: number },
  readonly MemoryRow[]
>('forgettable-memories');
/** The last edit of a memory since it was stored; null when it was never edited. */
export const lastEditOf = defineRead<{ readonly id: string }, LastEdit | null>('last-edit');
/** A memory as one of its operations wrote it; null when none did, or the log no longer holds it. */
export const imageWrittenBy = defineRead<
  { readonly id: string; readonly operation: OperationPlace },
  MemoryImage | null
>('image-written-by');

/** A memory by its exact id, expired or not. */
export const memoryById = (id: string): Reading<MemoryRow | null> => memoryRead({ id });
export const memoryByTitle = (title: string, namespace: string): Reading<MemoryRow | null> =>
  titleRead({ title, namespace });
