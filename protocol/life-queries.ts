import type { ArchivedMemory, ForgetFilter } from './life-commands.js';
import type { Memory } from './memory.js';
import type { Viewer } from './ranking/types.js';

/** Queries of the life cycle and the archive (interface §4.4, §4.8), as plain data. */
export type LifeQuery =
  | ListArchive
  | ArchiveStats
  | FindArchived
  | CountForgettable
  | CountExpired
  | ConsolidationGroups
  | NearestMemory
  | FindContradictions;

export interface ListArchive {
  readonly kind: 'list-archive';
  readonly namespace: string | null;
  readonly viewer: Viewer;
  readonly limit: number;
  readonly offset: number;
}

export interface ArchiveStats {
  readonly kind: 'archive-stats';
  readonly viewer: Viewer;
}

/** The id of an archived memory, for an id or a prefix that fits one visible one. */
export interface FindArchived {
  readonly kind: 'find-archived';
  readonly id: string;
  readonly viewer: Viewer;
}

export interface CountForgettable {
  readonly kind: 'count-forgettable';
  readonly filter: ForgetFilter;
  readonly now: string;
}

export interface CountExpired {
  readonly kind: 'count-expired';
  readonly now: string;
}

/** Memories with the same namespace and first tag, enough of them to be joined. */
export interface ConsolidationGroups {
  readonly kind: 'consolidation-groups';
  /** Exact; null for every namespace but the service's own, which begin with `_`. */
  readonly namespace: string | null;
  readonly shortOnly: boolean;
  readonly countMin: number;
  readonly viewer: Viewer;
  readonly now: string;
}

export interface ConsolidationGroup {
  readonly namespace: string;
  readonly tag: string;
  readonly ids: readonly string[];
  readonly titles: readonly string[];
}

/** The visible memory of one namespace whose vectors come nearest to a query's. */
export interface NearestMemory {
  readonly kind: 'nearest-memory';
  readonly namespace: string;
  /** Of unit length. */
  readonly queryVector: Float32Array;
  /** A row that says exactly this counts with similarity 1, with or without a vector. */
  readonly title: string;
  readonly content: string;
  readonly viewer: Viewer;
  readonly now: string;
}

export interface FindContradictions {
  readonly kind: 'find-contradictions';
  readonly topic: string | null;
  readonly namespace: string | null;
  readonly viewer: Viewer;
  readonly now: string;
  readonly limit: number;
}

export interface ContradictionLink {
  readonly source_id: string;
  readonly target_id: string;
  readonly relation: 'contradicts';
  /** False for a stored link. */
  readonly synthesized: boolean;
}

/** What each of them answers. */
export interface LifeAnswers {
  'list-archive': { readonly archived: readonly ArchivedMemory[] };
  'archive-stats': {
    readonly archived_total: number;
    readonly by_namespace: readonly { readonly namespace: string; readonly count: number }[];
  };
  'find-archived': { readonly id: string };
  /** `throughRid` is the highest row number of them, to bound the forgetting by. */
  'count-forgettable': { readonly count: number; readonly throughRid: number };
  'count-expired': { readonly count: number };
  'consolidation-groups': { readonly groups: readonly ConsolidationGroup[] };
  'nearest-memory': {
    readonly nearest: {
      readonly id: string;
      readonly title: string;
      readonly namespace: string;
      /** Cosine, -1 to 1. */
      readonly similarity: number;
    } | null;
    /** Visible rows that were compared. */
    readonly scanned: number;
  };
  'find-contradictions': {
    readonly memories: readonly Memory[];
    readonly links: readonly ContradictionLink[];
  };
}
