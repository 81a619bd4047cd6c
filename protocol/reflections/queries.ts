import type { Ask } from '../base/ask.js';
import type { Instant, Origin } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';
import type { MemoryRow } from '../memory/memory.js';

/** Queries about reflections (interface §4.12), each with its answer. */
export interface ReflectionQueries {
  readonly 'reflection-origin': Ask<
    ReflectionOrigin,
    {
      readonly memory: MemoryRow;
      /** Who wrote its first version, where the log still says it. */
      readonly maker: Origin | null;
      /** The depth of its deepest source that the viewer sees; null where there is none. */
      readonly sourceDepth: number | null;
    }
  >;
}

/** Where a memory comes from, and how deep its sources are here. The id may be a prefix. */
export interface ReflectionOrigin {
  readonly kind: 'reflection-origin';
  readonly id: string;
  readonly viewer: Viewer;
  readonly now: Instant;
}
