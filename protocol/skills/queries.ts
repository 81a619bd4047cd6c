import type { Ask } from '../base/ask.js';
import type { Instant } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';
import type { MemoryRow } from '../memory/memory.js';
import type { LeftOut } from '../memory/queries.js';

/** Queries of skills, each with its answer. */
export interface SkillQueries {
  readonly 'reflections-in': Ask<ReflectionsIn, LeftOut & { readonly memories: readonly MemoryRow[] }>;
}

/** The visible reflections of one namespace between two depths, the newest first. */
export interface ReflectionsIn {
  readonly kind: 'reflections-in';
  readonly namespace: string;
  readonly minDepth: number;
  readonly maxDepth: number;
  readonly limit: number;
  readonly viewer: Viewer;
  readonly now: Instant;
}
