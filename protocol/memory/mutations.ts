import { defineMutation } from '../decide/mutations.js';
import type { PurgeableRow } from './archived-memory.js';
import type { LookAlikePair } from './look-alikes.js';
import type { PurgeReason } from './memory-kind.js';

export const countAccess = defineMutation<{
  readonly id: string;
  readonly accessCount: number;
  readonly lastAccessedAt: string;
}>('count-access');
export const flagNearDuplicates = defineMutation<{
  readonly pairs: readonly LookAlikePair[];
  readonly through: number | null;
}>('flag-near-duplicates');
export const purgeArchived = defineMutation<{ readonly row: PurgeableRow; readonly reason: PurgeReason }>(
  'purge-archived',
);
export const dropArchived = defineMutation<{ readonly id: string }>('drop-archived');
