import type { Ask } from '../base/ask.js';
import type { Instant } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';
import type { MemoryRow } from '../memory/memory.js';

/** Queries about personas (interface §4.14), each with its answer. */
export interface PersonaQueries {
  readonly 'persona-of': Ask<PersonaOf, { readonly memory: MemoryRow | null }>;
  readonly 'persona-sources': Ask<
    PersonaSources,
    {
      readonly reflections: readonly MemoryRow[];
      /** The highest version in the namespace of the new persona, whoever sees it; 0 where there is none. */
      readonly version: number;
    }
  >;
}

/** The newest persona of an entity in a namespace that the viewer sees. */
export interface PersonaOf {
  readonly kind: 'persona-of';
  readonly entityId: string;
  readonly namespace: string;
  readonly viewer: Viewer;
  readonly now: Instant;
}

/** The reflections about an entity that the viewer sees: those of the highest priority first, then the newest. */
export interface PersonaSources {
  readonly kind: 'persona-sources';
  readonly entityId: string;
  /** Null for reflections of every namespace. */
  readonly namespace: string | null;
  /** Where the persona is going to lie. */
  readonly home: string;
  readonly limit: number;
  readonly viewer: Viewer;
  readonly now: Instant;
}
