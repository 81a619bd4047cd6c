import type { Ask } from '../ask.js';
import type { MemoryRow } from '../memory/memory.js';
import type { KindDigests, OperationPlace } from '../mesh/ranges.js';
import type { Have, OperationPage, WireOperation } from '../mesh/wire.js';
import type { PeerParked, PeerProgress } from './peer-progress.js';
import type { UsedNonce } from './used-nonce.js';

/** Queries of replication, each with its answer. */
export interface ReplicationQueries {
  readonly 'list-peer-progress': Ask<ListPeerProgress, PeerProgressAnswer>;
  readonly 'known-origins': Ask<KnownOrigins, KnownOriginsAnswer>;
  readonly 'read-operations': Ask<ReadOperations, ReadOperationsAnswer>;
  readonly 'read-digests': Ask<ReadDigests, ReadDigestsAnswer>;
  readonly 'find-operation': Ask<FindOperation, FoundOperation | null>;
  readonly 'list-conflicts': Ask<ListConflicts, readonly Conflict[]>;
  readonly 'list-nonces': Ask<ListNonces, readonly UsedNonce[]>;
  readonly 'memories-since': Ask<
    MemoriesSince,
    {
      readonly memories: readonly MemoryRow[];
      readonly more: boolean;
      /** The place of the last row that was looked at; null when there was none. */
      readonly last: MemoriesSince['after'] | null;
      /** Ids of rows that cannot be read and are left out; absent where there are none. */
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

/** Where every origin's chain ends here. */
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
  readonly hlc: string;
  /** All of them, this database's own included. */
  readonly heads: Readonly<Record<string, OriginHead>>;
  /** Latest stamp of each origin. */
  readonly stamps: Readonly<Record<string, string>>;
}

/**
 * Operations beyond what somebody has, origin by origin. Foreign origins' are cut where a head is signed; heads of the
 * own origin are not among the answer's, its caller signs them.
 */
export interface ReadOperations {
  readonly kind: 'read-operations';
  readonly have: Have;
  /** These origins alone; null means all. */
  readonly origins: readonly string[] | null;
  /** At most about this many operations and bytes of payload, but one at least. */
  readonly limit: number;
  readonly bytesMax: number;
  /** Nothing later than these of their origins. */
  readonly upTo?: Have;
}

export interface ReadOperationsAnswer extends OperationPage {
  /** Header hash of the last operation of each origin in the page. */
  readonly ends: Readonly<Record<string, OriginHead>>;
  /** Operations in it of which this node may hold no payload, so that it has none to give. */
  readonly lacking: readonly (OperationPlace & Pick<WireOperation, 'namespace' | 'kind'>)[];
}

/** Digests of the replicated state: equal ones mean equal rows. */
export interface ReadDigests {
  readonly kind: 'read-digests';
}

export interface ReadDigestsAnswer {
  /** By kind and namespace, hex, as far as there are rows; a kind without rows has an empty entry. */
  readonly digests: KindDigests;
  /** Live subjects that went in. */
  readonly rows: number;
}

/** An operation of the log by its id, or the last one about a subject, such as a memory, by the id of that. */
export interface FindOperation {
  readonly kind: 'find-operation';
  readonly opId: string;
}

export interface FoundOperation {
  readonly op_id: string;
  readonly origin: string;
  readonly seq: number;
  readonly hlc: string;
  readonly kind: string;
  readonly namespace: string;
  readonly subject: string;
  readonly commit_sequence: number;
  readonly parked: string | null;
}

/** Versions that lost against a concurrent one, and rows that another row's title hides. */
export interface ListConflicts {
  readonly kind: 'list-conflicts';
  readonly limit: number;
}

export interface Conflict {
  readonly kind: 'version' | 'title';
  /** The kind of the subject. */
  readonly of: string;
  readonly subject: string;
  readonly namespace: string;
  /** The operation that lost; null for a title. */
  readonly op_id: string | null;
  /** The operation, or the id of the row, that stands. */
  readonly winner: string;
  /** What was written, as far as the log still has it. */
  readonly lost: Readonly<Record<string, unknown>> | null;
}

/** Nonces that are still remembered, oldest first; read once at the start. */
export interface ListNonces {
  readonly kind: 'list-nonces';
}

/** Memories by their last change and id, after a place; expired ones do not exist. For peers that know no cursor. */
export interface MemoriesSince {
  readonly kind: 'memories-since';
  readonly after: { readonly updated_at: string; readonly id: string };
  readonly now: string;
  readonly limit: number;
}
