import type { Ask } from '../base/ask.js';
import type { Hlc, Instant, Origin, PeerId, SubjectId } from '../base/meanings.js';
import type {
  BucketDigests,
  KindDigests,
  KindNamespace,
  NamespaceDigest,
  OperationPlace,
} from '../log/ranges.js';
import type { Scope } from '../log/scope.js';
import type { Have, OperationPage, WireOperation } from '../log/wire-operation.js';
import type { MemoryRow } from '../memory/memory.js';
import type { AskRoom, PlanRoom, RoomPlan } from './make-room.js';
import type { PeerParked, PeerProgress } from './peer-progress.js';
import type { UsedNonce } from './used-nonce.js';

/** Queries of replication, each with its answer. */
export interface ReplicationQueries {
  readonly 'plan-room': Ask<PlanRoom, RoomPlan>;
  readonly 'used-room': Ask<AskRoom, { readonly used_bytes: number | null; readonly alone: boolean }>;
  readonly 'list-peer-progress': Ask<ListPeerProgress, PeerProgressAnswer>;
  readonly 'known-origins': Ask<KnownOrigins, KnownOriginsAnswer>;
  readonly 'read-operations': Ask<ReadOperations, ReadOperationsAnswer>;
  readonly 'read-digests': Ask<ReadDigests, ReadDigestsAnswer>;
  readonly 'read-buckets': Ask<ReadBuckets, ReadBucketsAnswer>;
  readonly 'read-namespaces': Ask<ReadNamespaces, ReadNamespacesAnswer>;
  readonly 'find-operation': Ask<FindOperation, FoundOperation | null>;
  readonly 'read-headers': Ask<ReadHeaders, HeaderPage>;
  readonly 'list-conflicts': Ask<ListConflicts, readonly Conflict[]>;
  readonly 'list-nonces': Ask<ListNonces, readonly UsedNonce[]>;
  readonly 'memories-since': Ask<
    MemoriesSince,
    {
      readonly memories: readonly MemoryRow[];
      readonly more: boolean;
      /** The position of the last row that was read; null when there was no row. */
      readonly last: MemoriesSince['after'] | null;
      /** Ids of rows that are left out because they cannot be read; absent when every row could be read. */
      readonly damaged?: readonly string[];
    }
  >;
}

export interface ListPeerProgress {
  readonly kind: 'list-peer-progress';
}

export interface PeerProgressAnswer {
  readonly progress: readonly PeerProgress[];
  readonly parked: readonly PeerParked[];
}

/** The end of every origin's chain on this node. */
export interface KnownOrigins {
  readonly kind: 'known-origins';
}

export interface OriginHead {
  readonly seq: number;
  readonly hash: string;
}

export interface KnownOriginsAnswer {
  /** This database's own origin. */
  readonly self: string;
  readonly commitSequence: number;
  /** Latest stamp seen. */
  readonly hlc: Hlc;
  /** The heads of all origins, this database's own included. */
  readonly heads: Readonly<Record<string, OriginHead>>;
  /** Latest stamp of each origin. */
  readonly stamps: Readonly<Record<string, string>>;
}

/**
 * Operations after the sequences in `have`, origin by origin. A foreign origin's operations end at a signed head. The
 * answer has no head of the own origin; the caller signs that.
 */
export interface ReadOperations {
  readonly kind: 'read-operations';
  readonly have: Have;
  /** Only these origins; null means all. */
  readonly origins: readonly string[] | null;
  /** About this many operations and bytes of payload at most, but at least one operation. */
  readonly limit: number;
  readonly bytesMax: number;
  /** No operation after these sequences of their origins. */
  readonly upTo?: Have;
}

export interface ReadOperationsAnswer extends OperationPage {
  /** Header hash of the last operation of each origin in the page. */
  readonly ends: Readonly<Record<string, OriginHead>>;
  /** Operations in the page whose payload this node may not hold, so it cannot send it. */
  readonly lacking: readonly (OperationPlace & Pick<WireOperation, 'namespace' | 'kind'>)[];
}

/** Digests of the replicated state: equal digests mean equal rows. */
export interface ReadDigests {
  readonly kind: 'read-digests';
}

export interface ReadDigestsAnswer {
  /** By kind and namespace, hex; only namespaces with rows. A kind without rows has an empty entry. */
  readonly digests: KindDigests;
  /** The number of live subjects that were counted. */
  readonly rows: number;
}

/**
 * Digests of the buckets of namespaces: the sum (exclusive or) over the namespaces that were looked at, so the answers of
 * several pages are added up.
 */
export interface ReadBuckets {
  readonly kind: 'read-buckets';
  /** Only namespaces that every one of these scopes holds. */
  readonly within: readonly Scope[];
  /** Namespaces after this one; null starts at the beginning. */
  readonly after: KindNamespace | null;
  /** How many namespaces to look at. */
  readonly limit: number;
}

export interface ReadBucketsAnswer {
  /** A kind without rows has an empty entry. */
  readonly buckets: BucketDigests;
  /** Null on the last page. */
  readonly next: KindNamespace | null;
}

/** Digests of the namespaces of one kind in some buckets, in the order of UTF-8. */
export interface ReadNamespaces {
  readonly kind: 'read-namespaces';
  /** The kind of the rows. */
  readonly of: string;
  readonly buckets: readonly number[];
  /** Only namespaces that every one of these scopes holds. */
  readonly within: readonly Scope[];
  /** Namespaces after this one and up to the other; null is the beginning or the end. */
  readonly after: string | null;
  readonly upTo: string | null;
  /** How many namespaces to look at. */
  readonly limit: number;
  /** The page ends with the namespace with which its JSON reaches this size. */
  readonly bytesMax: number;
}

export interface ReadNamespacesAnswer {
  readonly digests: readonly NamespaceDigest[];
  /** The bytes of the digests as JSON. */
  readonly bytes: number;
  /** The last namespace that was looked at; null on the last page. */
  readonly next: string | null;
}

/** The operations of one maker that are here as headers only, because the peer that sent them may not have their payload. */
export interface ReadHeaders {
  readonly kind: 'read-headers';
  readonly maker: string;
  /** The commit sequence before the first operation looked at. */
  readonly after: number;
  readonly limit: number;
}

export interface HeaderPage {
  readonly places: readonly OperationPlace[];
  /** The commit sequence of the last operation looked at; null when there was none. */
  readonly last: number | null;
}

/** An operation of the log by its id, or the last operation of a subject (such as a memory) by the subject's id. */
export interface FindOperation {
  readonly kind: 'find-operation';
  readonly opId: string;
}

export interface FoundOperation {
  readonly op_id: string;
  readonly origin: Origin;
  readonly seq: number;
  readonly hlc: Hlc;
  readonly kind: string;
  readonly namespace: string;
  readonly subject: SubjectId;
  readonly commit_sequence: number;
  readonly parked: string | null;
}

/** Versions that lost against a concurrent one, and rows that another row with the same title hides. */
export interface ListConflicts {
  readonly kind: 'list-conflicts';
  readonly limit: number;
  /** True leaves out versions that were taken back since. */
  readonly open?: boolean | undefined;
}

/** What a subject says, or said. */
export type Contents = Readonly<Record<string, unknown>>;

export interface Conflict {
  readonly kind: 'version' | 'title';
  /** The kind of the subject. */
  readonly of: string;
  readonly subject: SubjectId;
  readonly namespace: string;
  /** The operation that lost; null for a title. */
  readonly op_id: string | null;
  /** The winning operation, or the id of the row that keeps the title. */
  readonly winner: string;
  /** When the version that lost was written, and by which node; null for a title. */
  readonly lost_at: Instant | null;
  readonly lost_by: PeerId | null;
  /** The lost contents, as far as the log still has them. */
  readonly lost: Contents | null;
  /** What the subject says now; null for one that was removed. */
  readonly present: Contents | null;
  /** True when the lost text was written again since. */
  readonly taken: boolean;
}

/** Nonces that the node still remembers, oldest first; read once at the start. */
export interface ListNonces {
  readonly kind: 'list-nonces';
}

/** Live memories ordered by their last change and id, after a position. For peers that know no cursor. */
export interface MemoriesSince {
  readonly kind: 'memories-since';
  readonly after: { readonly updated_at: Instant; readonly id: string };
  readonly now: Instant;
  readonly limit: number;
}
