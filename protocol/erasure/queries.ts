import type { Ask } from '../base/ask.js';
import type { Instant, MemoryId } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';

/** Queries about erasures, each with its answer. */
export interface ErasureQueries {
  /** The memories that were made from others and that show to a viewer. */
  readonly 'derived-memories': Ask<DerivedMemories, { readonly ids: readonly MemoryId[] }>;
}

export interface DerivedMemories {
  readonly kind: 'derived-memories';
  readonly ids: readonly MemoryId[];
  readonly viewer: Viewer;
  readonly now: Instant;
  readonly limit: number;
}
