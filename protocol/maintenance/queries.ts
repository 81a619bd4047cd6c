import type { Ask } from '../base/ask.js';
import type { Instant, PeerId } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';
import type { AuditHeads, AuditRow } from '../log/audit.js';
import type { MemoryRow } from '../memory/memory.js';
import type { EncoderRef } from './encoder-ref.js';

/** Queries of upkeep, each with its answer. */
export interface MaintenanceQueries {
  readonly 'store-stats': Ask<StoreStats, Stats>;
  readonly 'pending-embeddings': Ask<
    PendingEmbeddings,
    {
      readonly rows: readonly Pick<MemoryRow, 'rid' | 'id' | 'version' | 'title' | 'content'>[];
    }
  >;
  readonly 'log-position': Ask<
    LogPosition,
    {
      readonly peerId: PeerId;
      readonly dbEpoch: string;
      readonly commitSequence: number;
      readonly originSeq: number;
      readonly chainHead: string;
    }
  >;
  readonly 'current-owner': Ask<CurrentOwner, { readonly holder: string | null; readonly fencing: number }>;
  readonly 'schema-version': Ask<AskSchemaVersion, { readonly version: number }>;
  readonly 'database-size': Ask<AskDatabaseSize, { readonly db_size_bytes: number }>;
  readonly engines: Ask<AskEngines, { readonly graph: 'cte' | 'age+cte' }>;
  readonly 'namespace-ids': Ask<NamespaceIds, { readonly ids: readonly number[] }>;
  readonly 'namespaces-below': Ask<NamespacesBelow, NamespacesBelowAnswer>;
  readonly 'count-pending-embeddings': Ask<CountPendingEmbeddings, { readonly pending: number }>;
  readonly 'embedding-progress': Ask<EmbeddingProgress, EmbeddingFacts>;
  readonly 'text-index-progress': Ask<TextIndexProgress, { readonly waiting: number }>;
  readonly 'audit-rows': Ask<AuditRows, { readonly rows: readonly AuditRow[] }>;
  readonly 'newest-audit-rows': Ask<NewestAuditRows, { readonly rows: readonly AuditRow[] }>;
  readonly 'audit-heads': Ask<ReadAuditHeads, { readonly heads: AuditHeads }>;
}

/** The version of the database file, which a later release may have upgraded under this process. */
export interface AskSchemaVersion {
  readonly kind: 'schema-version';
}

/** What the database takes on its disk, or on that of its server. */
export interface AskDatabaseSize {
  readonly kind: 'database-size';
}

/** What the database reads with, which depends on its extensions. */
export interface AskEngines {
  readonly kind: 'engines';
}

export interface StoreStats {
  readonly kind: 'store-stats';
  readonly viewer: Viewer;
  readonly now: Instant;
}

/** Rows that still need a vector, lowest row number first. */
export interface PendingEmbeddings {
  readonly kind: 'pending-embeddings';
  readonly afterRid: number;
  readonly limit: number;
  /** True for rows that wait for the coming encoder. */
  readonly coming?: boolean;
}

/** How far the background embedding is, by the rows that have or get vectors. */
export interface EmbeddingFacts {
  readonly memories: number;
  readonly pending: number;
  readonly embedded: number;
  /** Without a vector for a reason: no letters. */
  readonly skipped: number;
  /** Refused by the encoder. */
  readonly failed: number;
  /** Too long: only their beginning is embedded. */
  readonly cut: number;
  readonly searched: EncoderRef | null;
  /** The encoder that takes the place of the searched one, and how many of the rows it has seen. */
  readonly coming: (EncoderRef & { readonly done: number; readonly of: number }) | null;
}

export interface LogPosition {
  readonly kind: 'log-position';
}

/** The process that owns the database now; null when its lease has expired. */
export interface CurrentOwner {
  readonly kind: 'current-owner';
  readonly nowMs: number;
}

/** The numbers of interned namespaces; a namespace without any write has no number. */
export interface NamespaceIds {
  readonly kind: 'namespace-ids';
  readonly names: readonly string[];
  /** Also the numbers of all namespaces below this one; null for none. */
  readonly below: string | null;
}

/** The first namespaces below one that hold memories that the viewer may see. */
export interface NamespacesBelow {
  readonly kind: 'namespaces-below';
  readonly namespace: string;
  readonly viewer: Viewer;
  readonly now: Instant;
}

export interface NamespacesBelowAnswer {
  readonly names: readonly string[];
  /** Where neither the namespace nor one below holds such a memory: the one with nearly the same name that does. */
  readonly meant: string | null;
}

/** How many memories wait for the searched encoder; unlike the whole progress it counts no vectors. */
export interface CountPendingEmbeddings {
  readonly kind: 'count-pending-embeddings';
}

export interface EmbeddingProgress {
  readonly kind: 'embedding-progress';
}

/** How many memories are still indexed by the rules of another release. */
export interface TextIndexProgress {
  readonly kind: 'text-index-progress';
}

/** Rows of the audit chain after a sequence, oldest first. */
export interface AuditRows {
  readonly kind: 'audit-rows';
  readonly after: number;
  readonly limit: number;
}

/** Rows of the audit chain, the newest first. */
export interface NewestAuditRows {
  readonly kind: 'newest-audit-rows';
  /** Only rows before this sequence. */
  readonly before?: number | undefined;
  readonly limit: number;
}

/** The heads of the audit chain from the file next to the database. */
export interface ReadAuditHeads {
  readonly kind: 'audit-heads';
}

/** The counts of `GET /stats` (interface §4.1). */
export interface Stats {
  readonly total: number;
  readonly by_tier: readonly { readonly tier: string; readonly count: number }[];
  readonly by_namespace: readonly { readonly namespace: string; readonly count: number }[];
  /** Rows that expire within the hour. */
  readonly expiring_soon: number;
  readonly links_count: number;
  readonly db_size_bytes: number;
}
