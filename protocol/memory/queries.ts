import type { Ask } from '../ask.js';
import type { RankedRow, RecallRequest, Viewer } from '../ranking/types.js';
import type { Memory, MemoryRow, Tier } from './memory.js';
import type { OnConflict } from './on-conflict.js';
import type { ObservationJson } from './recall-ledger.js';

/** Queries of memories, each with its answer. */
export interface MemoryQueries {
  readonly 'nearest-memory': Ask<
    NearestMemory,
    {
      readonly nearest: {
        readonly id: string;
        readonly title: string;
        readonly namespace: string;
        /** Cosine, -1 to 1. */
        readonly similarity: number;
      } | null;
      /** Visible rows that were compared. */
      readonly scanned: number;
    }
  >;
  readonly 'near-duplicate': Ask<
    NearDuplicate,
    {
      readonly duplicate: { readonly rid: number; readonly id: string; readonly title: string } | null;
    }
  >;
  /** The most similar first. */
  readonly 'similar-titles': Ask<SimilarTitles, { readonly ids: readonly string[] }>;
  readonly 'get-memory': Ask<
    GetMemory,
    { readonly memory: MemoryRow; readonly links: readonly LinkSummary[] }
  >;
  readonly 'list-memories': Ask<ListMemories, MemoryPage>;
  readonly 'search-memories': Ask<SearchMemories, MemoryPage>;
  readonly 'recall-memories': Ask<
    RecallMemories,
    Omit<RankedMemories, 'rows'> &
      LeftOut & {
        readonly rows: readonly { readonly memory: MemoryRow; readonly score: number }[];
        /** True when the bytes of the rows ended the answer early. */
        readonly truncated: boolean;
      }
  >;
  readonly 'prepare-recall': Ask<PrepareRecall, { readonly prepared: boolean }>;
  readonly 'rank-memories': Ask<RankMemories, RankedMemories>;
  readonly 'recall-observations': Ask<
    RecallObservations,
    { readonly observations: readonly ObservationJson[] }
  >;
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

export interface GetMemory {
  readonly kind: 'get-memory';
  /** An id, or a prefix that fits one visible memory. */
  readonly id: string;
  readonly viewer: Viewer;
  readonly now: string;
}

/** Filters that list and search share (interface §4.2, §4.3). */
export interface MemoryFilter {
  /** Exact. */
  readonly namespace: string | null;
  readonly tier: Tier | null;
  readonly minPriority: number | null;
  /** Bounds on created_at, canonical. */
  readonly since: string | null;
  readonly until: string | null;
  /** Any of these. */
  readonly tags: readonly string[];
  readonly agentId: string | null;
  readonly viewer: Viewer;
  readonly now: string;
  readonly limit: number;
  readonly offset: number;
}

export interface ListMemories {
  readonly kind: 'list-memories';
  readonly filter: MemoryFilter;
  /** Exact `metadata.family`, for the family loaders. */
  readonly family: string | null;
}

export interface SearchMemories {
  readonly kind: 'search-memories';
  readonly query: string;
  readonly filter: MemoryFilter;
  /** Exact; then the query may be empty. */
  readonly sourceUri: string | null;
  /** True finds rows that were atomised too. */
  readonly includeArchived?: boolean;
}

export interface RecallMemories {
  readonly kind: 'recall-memories';
  readonly request: RecallRequest;
  /** The key of a `prepare-recall` with the same request, or null. */
  readonly prepared?: string | null;
}

/**
 * Begins a recall while its query is still being embedded: everything that needs no vectors. Only a hint; the recall
 * itself does what was not prepared.
 */
export interface PrepareRecall {
  readonly kind: 'prepare-recall';
  readonly key: string;
  readonly request: RecallRequest;
}

/** The first half of a recall: which rows, in which order. */
export interface RankMemories {
  readonly kind: 'rank-memories';
  readonly request: RecallRequest;
  readonly prepared?: string | null;
}

/** The ledger of recalls, newest first (reference-mcp-cli §6.8). */
export interface RecallObservations {
  readonly kind: 'recall-observations';
  readonly recallId: string | null;
  readonly consumed: boolean | null;
  /** Bounds on observed_at, canonical. */
  readonly since: string | null;
  readonly until: string | null;
  readonly limit: number;
  /** Whose recalls; null for those of everybody. */
  readonly agentId: string | null;
  /** Observations of memories that this viewer may not see are left out. */
  readonly viewer: Viewer;
  readonly now: string;
}

/** What a page says of the rows that it leaves out. */
export interface LeftOut {
  /** Ids of rows that cannot be read; absent where there are none. */
  readonly damaged?: readonly string[];
}

/** Memories in order, up to the byte limit of a page. */
export interface MemoryPage extends LeftOut {
  readonly memories: readonly Memory[];
  /** Where the next page begins when the bytes ended this one early; null otherwise. */
  readonly nextOffset: number | null;
}

/** A link as `GET /memories/{id}` shows it. */
export interface LinkSummary {
  readonly source_id: string;
  readonly target_id: string;
  readonly relation: string;
  readonly created_at: string;
}

/** A ranking, what really ran, and how many rows each index proposed. */
export interface RankedMemories {
  readonly rows: readonly RankedRow[];
  readonly mode: 'hybrid' | 'keyword';
  readonly candidates: { readonly fts: number; readonly vector: number };
  /** Candidates that only the confidence filter kept out. */
  readonly confidenceFilteredOut: number;
  /** What one standard deviation of the cosine weighed, a perfect match of words being 1; null in keyword mode. */
  readonly blendWeight: number | null;
}
