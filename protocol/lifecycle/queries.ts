import type { Ask } from '../base/ask.js';
import type { Instant } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';
import type { ArchivedMemory } from '../memory/archived-memory.js';
import type { ForgetFilter } from '../memory/forget-filter.js';
import type { Memory } from '../memory/memory.js';

/** Queries of the life cycle and the archive (interface §4.4, §4.8), each with its answer. */
export interface LifecycleQueries {
  readonly 'list-archive': Ask<
    ListArchive,
    {
      readonly archived: readonly ArchivedMemory[];
      /** The number of rows that are left out because they cannot be read; no log restores an archived copy. */
      readonly unreadable: number;
      /** Where the page ends; null when it is the last one. */
      readonly next: ArchivePlace | null;
    }
  >;
  readonly 'archive-stats': Ask<
    ArchiveStats,
    {
      readonly archived_total: number;
      readonly by_namespace: readonly { readonly namespace: string; readonly count: number }[];
    }
  >;
  readonly 'find-archived': Ask<FindArchived, { readonly id: string; readonly namespace: string }>;
  /** `throughRid` is their highest row number, which bounds the forget. */
  readonly 'count-forgettable': Ask<
    CountForgettable,
    { readonly count: number; readonly throughRid: number }
  >;
  readonly 'count-expired': Ask<CountExpired, { readonly count: number }>;
  readonly 'consolidation-groups': Ask<
    ConsolidationGroups,
    { readonly groups: readonly ConsolidationGroup[] }
  >;
  readonly 'find-contradictions': Ask<
    FindContradictions,
    {
      readonly memories: readonly Memory[];
      /** Ids of rows that are left out because they cannot be read; absent when every row can be read. */
      readonly damaged?: readonly string[];
      readonly links: readonly ContradictionLink[];
      /** True when a limit left out links or kept rows from being compared. */
      readonly truncated: boolean;
    }
  >;
}

/** What orders the archive, of one row. */
export type ArchivePlace = readonly [archivedAt: Instant, id: string];

export interface ListArchive {
  readonly kind: 'list-archive';
  readonly namespace: string | null;
  readonly viewer: Viewer;
  readonly limit: number;
  readonly offset: number;
  /** Only rows behind this place. */
  readonly after?: ArchivePlace | undefined;
}

export interface ArchiveStats {
  readonly kind: 'archive-stats';
  readonly viewer: Viewer;
}

/** The id of an archived memory, for an id or a prefix that matches one visible memory. */
export interface FindArchived {
  readonly kind: 'find-archived';
  readonly id: string;
  readonly viewer: Viewer;
}

export interface CountForgettable {
  readonly kind: 'count-forgettable';
  readonly filter: ForgetFilter;
  readonly now: Instant;
}

export interface CountExpired {
  readonly kind: 'count-expired';
  readonly now: Instant;
}

/** Groups of memories with the same namespace and first tag that are large enough to join. */
export interface ConsolidationGroups {
  readonly kind: 'consolidation-groups';
  /** Exact; null for every namespace except the service's own, which begin with `_`. */
  readonly namespace: string | null;
  readonly shortOnly: boolean;
  readonly countMin: number;
  readonly viewer: Viewer;
  readonly now: Instant;
}

export interface ConsolidationGroup {
  readonly namespace: string;
  readonly tag: string;
  readonly ids: readonly string[];
  readonly titles: readonly string[];
}

export interface FindContradictions {
  readonly kind: 'find-contradictions';
  readonly topic: string | null;
  readonly namespace: string | null;
  readonly viewer: Viewer;
  readonly now: Instant;
  readonly limit: number;
}

export interface ContradictionLink {
  readonly source_id: string;
  readonly target_id: string;
  readonly relation: 'contradicts';
  /** False for a stored link. */
  readonly synthesized: boolean;
}
