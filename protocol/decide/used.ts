import type { MemoryId } from '../base/meanings.js';

/** What can be done with a memory that somebody found. */
export const MEMORY_USES = ['read', 'cited', 'linked', 'updated', 'superseded'] as const;
export type MemoryUse = (typeof MEMORY_USES)[number];

/** The memories that a command used, besides those that it made. */
export type Uses = readonly (readonly [MemoryId, MemoryUse])[];
