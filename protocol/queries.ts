import type { AgentRecord } from './agents/agent.js';
import type { QuotaUse } from './agents/quota.js';
import type { AuditHead, AuditRow } from './audit.js';
import type { Link } from './graph/link.js';
import type { RecordImage, RecordPlace } from './kinds/record.js';
import type { LifeAnswers, LifeQuery } from './life-queries.js';
import type { Memory, MemoryRow, Tier } from './memory/memory.js';
import type { MeshAnswers, MeshQuery } from './mesh/store-terms.js';
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
  | GetAgentKey
  | ListAgents
  | ListQuotas
  | AuditRows
  | ReadAuditHead
  | ExportMemories
  | ExportLinks
  | ExportRecords
  | ReadRecords
  | RecallObservations
  | LinkAttestations
  | LifeQuery
  | MeshQuery;

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

/** The key that is bound to an agent. */
export interface GetAgentKey {
  readonly kind: 'agent-key';
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

/** The attestation of the newest link of each memory; a link to a memory that the viewer may not see is none. */
export interface LinkAttestations {
  readonly kind: 'link-attestations';
  readonly ids: readonly string[];
  readonly viewer: Viewer;
  readonly now: string;
}

/** A row of the ledger, in the names of the interface. */
export interface ObservationJson {
  readonly recall_id: string;
  readonly memory_id: string;
  readonly retriever: string;
  /** From 1. */
  readonly rank: number;
  readonly score: number;
  readonly consumed: boolean;
  readonly observed_at: string;
  readonly consumed_at?: string;
  readonly consumed_by_memory_id?: string;
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

/** Records of all exported kinds behind a place, by kind and id. */
export interface ExportRecords {
  readonly kind: 'export-records';
  readonly after: RecordPlace | null;
  readonly limit: number;
  /** The page ends before the record with which its texts would be larger. */
  readonly bytesMax: number;
}

/** Records of one kind by their ids. */
export interface ReadRecords {
  readonly kind: 'read-records';
  /** The name of the kind. */
  readonly of: string;
  /** At most `READ_RECORDS_MAX`. */
  readonly ids: readonly string[];
}

/** A link as `GET /memories/{id}` shows it. */
export interface LinkSummary {
  readonly source_id: string;
  readonly target_id: string;
  readonly relation: string;
  readonly created_at: string;
}

/** What each query answers when it succeeds. */
export interface Answers extends LifeAnswers, MeshAnswers {
  'get-memory': { readonly memory: MemoryRow; readonly links: readonly LinkSummary[] };
  'list-memories': MemoryPage;
  'search-memories': MemoryPage;
  'rank-memories': RankedMemories;
  'prepare-recall': { readonly prepared: boolean };
  'recall-memories': Omit<RankedMemories, 'rows'> &
    LeftOut & {
      readonly rows: readonly { readonly memory: MemoryRow; readonly score: number }[];
      /** True when the bytes of the rows ended the answer early. */
      readonly truncated: boolean;
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
  'recall-observations': { readonly observations: readonly ObservationJson[] };
  /** Memory id and level, for memories that have a link. */
  'link-attestations': { readonly levels: readonly (readonly [id: string, level: string])[] };
  'embedding-progress': { readonly pending: number; readonly embedded: number; readonly skipped: number };
  /** Standard base64; null when the agent is not registered or has none. */
  'agent-key': { readonly publicKey: string | null };
  'list-agents': LeftOut & { readonly agents: readonly AgentRecord[] };
  'list-quotas': { readonly uses: readonly QuotaUse[] };
  'audit-rows': { readonly rows: readonly AuditRow[] };
  'audit-head': { readonly head: AuditHead | 'damaged' | null };
  'export-memories': LeftOut & {
    readonly memories: readonly MemoryRow[];
    readonly more: boolean;
    /** The place of the last row that was looked at; null when there was none. */
    readonly last: ExportPlace | null;
  };
  /** `next` is the place of the last link when more follow. */
  'export-links': { readonly links: readonly Link[]; readonly next: ExportLinkPlace | null };
  'export-records': { readonly records: readonly RecordImage[]; readonly more: boolean };
  /** Those that exist, in the order of the ids. */
  'read-records': { readonly records: readonly RecordImage[] };
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
