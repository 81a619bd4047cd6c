import type { Ask } from '../base/ask.js';
import type { AgentId, Instant, PeerId } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';
import type {
  FindLookAlikes,
  FlaggedDuplicates,
  LookAlikePair,
  NearDuplicate,
  ReviewWritten,
} from './look-alikes.js';
import type { MemoryRow, Tier } from './memory.js';
import type { MemoryImage } from './memory-kind.js';
import type {
  ObservationJson,
  RecalledMemoryJson,
  RecallFiguresJson,
  RecallJson,
  RecallPlace,
} from './recall-ledger.js';
import type { RankedRow, RecallRequest } from './recall-request.js';

/** Queries of memories, each with its answer. */
export interface MemoryQueries {
  readonly 'index-texts': Ask<IndexTexts, { readonly indexed: readonly string[] }>;
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
  /** `same`: they say the same, word for word (`saysTheSame`). */
  readonly 'find-look-alikes': Ask<
    FindLookAlikes,
    { readonly found: readonly (NearDuplicate & { readonly same: boolean })[] }
  >;
  readonly 'review-written': Ask<
    ReviewWritten,
    {
      readonly pairs: readonly LookAlikePair[];
      /** The places in the log from which and up to which rows were compared. */
      readonly from: number;
      readonly through: number;
      readonly more: boolean;
    }
  >;
  /** Pairs of an id and what it is like. */
  readonly 'flagged-duplicates': Ask<
    FlaggedDuplicates,
    { readonly flagged: readonly (readonly [id: string, duplicates: readonly NearDuplicate[]])[] }
  >;
  /** The most similar title first. */
  readonly 'similar-titles': Ask<SimilarTitles, { readonly ids: readonly string[] }>;
  readonly 'get-memory': Ask<
    GetMemory,
    {
      readonly memory: MemoryRow;
      readonly links: readonly LinkSummary[];
      /** True when there are, or may be, more links. */
      readonly truncated: boolean;
    }
  >;
  readonly 'memory-history': Ask<
    MemoryHistory,
    {
      readonly id: string;
      /** The newest first. */
      readonly versions: readonly MemoryVersion[];
      readonly truncated: boolean;
    }
  >;
  readonly 'list-memories': Ask<ListMemories, ListedMemories>;
  /** `notKept`: memories whose version of then the log no longer holds. */
  readonly 'memories-known-at': Ask<MemoriesKnownAt, MemoryPage & { readonly notKept: number }>;
  readonly 'search-memories': Ask<SearchMemories, MemoryPage>;
  readonly 'recall-memories': Ask<
    RecallMemories,
    Omit<RankedMemories, 'rows'> &
      LeftOut & {
        readonly rows: readonly (Omit<RankedRow, 'rid'> & { readonly memory: MemoryRow })[];
        /** True when the byte limit ended the answer early. */
        readonly truncated: boolean;
      }
  >;
  readonly 'prepare-recall': Ask<PrepareRecall, { readonly prepared: boolean }>;
  readonly 'rank-memories': Ask<RankMemories, RankedMemories>;
  readonly 'recall-observations': Ask<
    RecallObservations,
    { readonly observations: readonly ObservationJson[] }
  >;
  readonly 'list-recalls': Ask<
    ListRecalls,
    { readonly recalls: readonly RecallJson[]; readonly next: RecallPlace | null }
  >;
  readonly 'recalled-memories': Ask<RecalledMemories, { readonly memories: readonly RecalledMemoryJson[] }>;
  readonly 'recall-figures': Ask<RecallFigures, RecallFiguresJson>;
}

/** The visible memory of one namespace whose vectors are nearest to a query vector. */
export interface NearestMemory {
  readonly kind: 'nearest-memory';
  readonly namespace: string;
  /** Of unit length. */
  readonly queryVector: Float32Array;
  /** A row with exactly this title and content counts as similarity 1, with or without a vector. */
  readonly title: string;
  readonly content: string;
  readonly viewer: Viewer;
  readonly now: Instant;
}

/** Visible memories of one namespace with a title that may share a new memory's subject (potential_contradictions). */
export interface SimilarTitles {
  readonly kind: 'similar-titles';
  readonly namespace: string;
  readonly title: string;
  /** Leaves out this memory: the write may already be stored. */
  readonly exceptId: string;
  readonly viewer: Viewer;
  readonly now: Instant;
}

export interface GetMemory {
  readonly kind: 'get-memory';
  /** An id, or a prefix that matches one visible memory. */
  readonly id: string;
  /** At most this many links; none are read for 0. */
  readonly linksMax?: number;
  readonly viewer: Viewer;
  readonly now: Instant;
}

/** The versions of a memory that the log of this node holds. */
export interface MemoryHistory {
  readonly kind: 'memory-history';
  /** An id, or a prefix that matches one visible memory. */
  readonly id: string;
  readonly limit: number;
  readonly viewer: Viewer;
  readonly now: Instant;
}

export interface MemoryVersion {
  readonly op_id: string;
  /** What was done: store, update, promote or restore. */
  readonly change: string;
  readonly at: Instant;
  /** The node that wrote it. */
  readonly node: PeerId;
  /** Null where the log dropped it, or where the viewer could not see the memory as it was then. */
  readonly memory: MemoryImage | null;
}

/** Filters that list and search share (interface §4.2, §4.3). */
export interface MemoryFilter {
  /** Exact. */
  readonly namespace: string | null;
  readonly tier: Tier | null;
  readonly minPriority: number | null;
  /** Bounds on created_at, canonical. */
  readonly since: Instant | null;
  readonly until: Instant | null;
  /** A memory matches with any of these tags. */
  readonly tags: readonly string[];
  /** Null and absent mean every kind. */
  readonly kinds?: readonly string[] | null;
  readonly agentId: AgentId | null;
  /** Only what holds at this instant; null and absent for everything. */
  readonly asOf?: Instant | null;
  readonly viewer: Viewer;
  readonly now: Instant;
  readonly limit: number;
  readonly offset: number;
}

/** What orders a list of memories, of one row: its priority, its last update, and its row id on this node. */
export type ListPlace = readonly [priority: number, updatedAt: Instant, rid: number];

export interface ListMemories {
  readonly kind: 'list-memories';
  /** Only rows behind this place. */
  readonly after?: ListPlace | undefined;
  readonly filter: MemoryFilter;
  /** Exact `metadata.family`, for the family loaders. */
  readonly family: string | null;
  /** True leaves out the namespaces of the service itself, which begin with `_`. */
  readonly withoutReserved?: boolean;
}

/** A list of the memories as they were known at an instant. */
export interface MemoriesKnownAt {
  readonly kind: 'memories-known-at';
  readonly filter: MemoryFilter;
  readonly knownAt: Instant;
}

export interface SearchMemories {
  readonly kind: 'search-memories';
  readonly query: string;
  readonly filter: MemoryFilter;
  /** Exact; when set, the query may be empty. */
  readonly sourceUri: string | null;
  /** True also finds rows that were atomised. */
  readonly includeArchived?: boolean;
}

export interface RecallMemories {
  readonly kind: 'recall-memories';
  readonly request: RecallRequest;
  /** The key of a `prepare-recall` with the same request, or null. */
  readonly prepared?: string | null;
}

/**
 * Starts a recall while its query is still being embedded: everything that needs no vectors. Only a hint; the recall
 * itself does whatever was not prepared.
 */
export interface PrepareRecall {
  readonly kind: 'prepare-recall';
  readonly key: string;
  readonly request: RecallRequest;
}

/** The first half of a recall: it selects and orders the rows. */
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
  readonly since: Instant | null;
  readonly until: Instant | null;
  readonly limit: number;
  /** The agent whose recalls are listed; null lists the recalls of all agents. */
  readonly agentId: AgentId | null;
  /** Leaves out observations of memories that this viewer may not see. */
  readonly viewer: Viewer;
  readonly now: Instant;
}

/** What a recall came to: rows, weak ones only, or none. */
export const RECALL_OUTCOMES = ['found', 'weak', 'none'] as const;
export type RecallOutcome = (typeof RECALL_OUTCOMES)[number];

/** Recalls, newest first, with what was asked and what came of it. None in a namespace that rules keep from the viewer. */
export interface ListRecalls {
  readonly kind: 'list-recalls';
  /** An id, or its beginning. */
  readonly recallId: string | null;
  /** Exact: the place that the recall named. */
  readonly namespace: string | null;
  readonly outcome: RecallOutcome | null;
  /** Whether one of its rows was used, or it led to a memory. */
  readonly used: boolean | null;
  /** Bounds on observed_at, canonical. */
  readonly since: Instant | null;
  readonly until: Instant | null;
  /** The agents whose recalls are listed; null lists the recalls of all. */
  readonly agentId: AgentId | null;
  readonly after: RecallPlace | undefined;
  readonly limit: number;
  readonly viewer: Viewer;
  readonly now: Instant;
}

/** The rows of a recall, best first, as far as the viewer may see them now. */
export interface RecalledMemories {
  readonly kind: 'recalled-memories';
  readonly recallId: string;
  readonly viewer: Viewer;
  readonly now: Instant;
}

/** Counts over the recalls with a trace. */
export interface RecallFigures {
  readonly kind: 'recall-figures';
  /** The agent whose recalls count; null for those of all. */
  readonly agentId: AgentId | null;
}

/** The part of a page that names rows left out. */
export interface LeftOut {
  /** Ids of rows that cannot be read; absent when every row can be read. */
  readonly damaged?: readonly string[];
}

/** Memories in order, up to the byte limit of a page. */
export interface MemoryPage extends LeftOut {
  readonly memories: readonly MemoryRow[];
  /** Where the next page begins when the byte limit ended this one early; null otherwise. */
  readonly nextOffset: number | null;
}

/** A page of a list. */
export interface ListedMemories extends MemoryPage {
  /** Where the page ends; null when it is the last one. */
  readonly next: ListPlace | null;
}

/** A link as `GET /memories/{id}` shows it. */
export interface LinkSummary {
  readonly source_id: string;
  readonly target_id: string;
  readonly relation: string;
  readonly created_at: Instant;
}

/** A ranking, the mode that ran, and how many rows each index proposed. */
export interface RankedMemories {
  readonly rows: readonly RankedRow[];
  readonly mode: 'hybrid' | 'keyword';
  readonly candidates: { readonly fts: number; readonly vector: number };
  /** Candidates that only the confidence filter excluded. */
  readonly confidenceFilteredOut: number;
  /** Rows that the answer would have without a least score. */
  readonly belowMinScore: number;
  /**
   * The weight of one standard deviation of the cosine, when a perfect match of words weighs 1; null in keyword mode.
   */
  readonly blendWeight: number | null;
}

/** What the full-text index holds for texts: work of milliseconds, which needs no transaction. */
export interface IndexTexts {
  readonly kind: 'index-texts';
  readonly texts: readonly string[];
}
