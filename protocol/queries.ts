import type { AgentRecord } from './agent.js';
import type { AuditHead, AuditRow } from './audit.js';
import type { Link } from './link.js';
import type { Memory, MemoryRow, Tier } from './memory.js';
import type { QuotaUse } from './quota.js';
import type { RankedRow, RecallRequest, Viewer } from './ranking/types.js';

/**
 * Everything that can be asked of a store without changing it, as plain data. Every query that returns memories
 * applies the visibility gate itself; `now` hides what has expired.
 */
export type Query =
  | GetMemory
  | ListMemories
  | SearchMemories
  | RecallMemories
  | RankMemories
  | PrepareRecall
  | StoreStats
  | PendingEmbeddings
  | LogPosition
  | NamespaceIds
  | CurrentOwner
  | EmbeddingProgress
  | GetAgent
  | ListAgents
  | ListQuotas
  | AuditRows
  | ReadAuditHead
  | ExportMemories
  | ExportLinks;

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

export interface StoreStats {
  readonly kind: 'store-stats';
  readonly viewer: Viewer;
  readonly now: string;
}

/** Rows that still need a vector, lowest row number first. */
export interface PendingEmbeddings {
  readonly kind: 'pending-embeddings';
  readonly afterRid: number;
  readonly limit: number;
}

export interface LogPosition {
  readonly kind: 'log-position';
}

/** The process that owns the database now; null when its lease has run out. */
export interface CurrentOwner {
  readonly kind: 'current-owner';
  readonly nowMs: number;
}

/** The numbers of interned namespaces; one that was never written to has none. */
export interface NamespaceIds {
  readonly kind: 'namespace-ids';
  readonly names: readonly string[];
}

export interface EmbeddingProgress {
  readonly kind: 'embedding-progress';
}

/** The record of one agent; null when it is not registered. */
export interface GetAgent {
  readonly kind: 'get-agent';
  readonly agentId: string;
}

/** Registered agents by id, after one of them. */
export interface ListAgents {
  readonly kind: 'list-agents';
  readonly after: string | null;
  readonly limit: number;
}

/** Quota rows; null means any. */
export interface ListQuotas {
  readonly kind: 'list-quotas';
  readonly holder: string | null;
  readonly namespace: string | null;
}

/** Rows of the audit chain after a sequence, oldest first. */
export interface AuditRows {
  readonly kind: 'audit-rows';
  readonly after: number;
  readonly limit: number;
}

/** The head of the audit chain as its file beside the database says. */
export interface ReadAuditHead {
  readonly kind: 'audit-head';
}

/** A memory's place in an export, which is by creation and then by id. */
export interface ExportPlace {
  readonly created_at: string;
  readonly id: string;
}

/** A link's place: that of its source, and its own there; without the latter, behind all links of the source. */
export interface ExportLinkPlace extends ExportPlace {
  readonly link: { readonly target_id: string; readonly relation: string } | null;
}

/** Visible memories behind a place. */
export interface ExportMemories {
  readonly kind: 'export-memories';
  readonly viewer: Viewer;
  readonly now: string;
  readonly after: ExportPlace | null;
  readonly limit: number;
  /** The page ends before the row with which its texts would be larger. */
  readonly bytesMax: number;
}

/** Links behind a place whose source comes no later than `until` and whose two ends are visible. */
export interface ExportLinks {
  readonly kind: 'export-links';
  readonly viewer: Viewer;
  readonly now: string;
  readonly after: ExportLinkPlace | null;
  readonly until: ExportPlace | null;
  readonly limit: number;
}

/** A link as `GET /memories/{id}` shows it. */
export interface LinkSummary {
  readonly source_id: string;
  readonly target_id: string;
  readonly relation: string;
  readonly created_at: string;
}

/** What each query answers when it succeeds. */
export interface Answers {
  'get-memory': { readonly memory: Memory; readonly links: readonly LinkSummary[] };
  'list-memories': { readonly memories: readonly Memory[] };
  'search-memories': { readonly memories: readonly Memory[] };
  'rank-memories': RankedMemories;
  'prepare-recall': { readonly prepared: boolean };
  'recall-memories': Omit<RankedMemories, 'rows'> & {
    readonly rows: readonly { readonly memory: MemoryRow; readonly score: number }[];
  };
  'store-stats': Stats;
  'pending-embeddings': {
    readonly rows: readonly Pick<MemoryRow, 'rid' | 'id' | 'version' | 'title' | 'content'>[];
  };
  'log-position': {
    readonly peerId: string;
    readonly dbEpoch: string;
    readonly commitSequence: number;
    readonly originSeq: number;
    readonly chainHead: string;
  };
  'current-owner': { readonly holder: string | null };
  'namespace-ids': { readonly ids: readonly number[] };
  'embedding-progress': { readonly pending: number; readonly embedded: number; readonly skipped: number };
  'get-agent': { readonly agent: AgentRecord | null };
  'list-agents': { readonly agents: readonly AgentRecord[] };
  'list-quotas': { readonly uses: readonly QuotaUse[] };
  'audit-rows': { readonly rows: readonly AuditRow[] };
  'audit-head': { readonly head: AuditHead | 'damaged' | null };
  'export-memories': { readonly memories: readonly MemoryRow[]; readonly more: boolean };
  /** `next` is the place of the last link when more follow. */
  'export-links': { readonly links: readonly Link[]; readonly next: ExportLinkPlace | null };
}

/** A ranking, what really ran, and how many rows each index proposed. */
export interface RankedMemories {
  readonly rows: readonly RankedRow[];
  readonly mode: 'hybrid' | 'keyword';
  readonly candidates: { readonly fts: number; readonly vector: number };
}

export type AnswerOf<Q extends Query> = Answers[Q['kind']];

/** interface §4.1, GET /stats. */
export interface Stats {
  readonly total: number;
  readonly by_tier: readonly { readonly tier: string; readonly count: number }[];
  readonly by_namespace: readonly { readonly namespace: string; readonly count: number }[];
  /** Rows that expire within the hour. */
  readonly expiring_soon: number;
  readonly links_count: number;
  readonly db_size_bytes: number;
}
