import type { OnConflict } from './commands.js';
import type { ArchivedMemory, ForgetFilter } from './life-commands.js';
import type { Memory } from './memory/memory.js';
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
  | NearDuplicate
  | SimilarTitles
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

/**
 * The first of some rows that a store would nearly repeat: visible, of one namespace, of one window, with other content.
 * None where the write itself answers for a taken title.
 */
export interface NearDuplicate {
  readonly kind: 'near-duplicate';
  readonly namespace: string;
  /** Row numbers, the nearest first. */
  readonly rids: readonly number[];
  /** Dimension of the vectors that were compared. */
  readonly dim: number;
  readonly title: string;
  readonly content: string;
  readonly onConflict: OnConflict;
  readonly viewer: Viewer;
  readonly now: string;
}

/** Visible memories of one namespace whose titles may be about what a new one's is (potential_contradictions). */
export interface SimilarTitles {
  readonly kind: 'similar-titles';
  readonly namespace: string;
  readonly title: string;
  /** Not this one: the write may be there already. */
  readonly exceptId: string;
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
  'list-archive': {
    readonly archived: readonly ArchivedMemory[];
    /** How many rows cannot be read and are left out; no log brings an archived copy back. */
    readonly unreadable: number;
  };
  'archive-stats': {
    readonly archived_total: number;
    readonly by_namespace: readonly { readonly namespace: string; readonly count: number }[];
  };
  'find-archived': { readonly id: string; readonly namespace: string };
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
  'near-duplicate': {
    readonly duplicate: { readonly rid: number; readonly id: string; readonly title: string } | null;
  };
  /** The most similar first. */
  'similar-titles': { readonly ids: readonly string[] };
  'find-contradictions': {
    readonly memories: readonly Memory[];
    /** Ids of rows that cannot be read and are left out; absent where there are none. */
    readonly damaged?: readonly string[];
    readonly links: readonly ContradictionLink[];
  };
}
