import type { MemoryId } from '../base/meanings.js';
import { defineMutation } from '../decide/mutations.js';

/** Drops what rows of this node only say of memories: events on their way, and jobs. */
export const dropTraces = defineMutation<{ readonly ids: readonly MemoryId[] }>('drop-traces');
