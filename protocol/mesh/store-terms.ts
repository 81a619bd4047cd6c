import type { Memory, MemoryRow } from '../memory/memory.js';
import type { VersionVector } from '../version-vector.js';
import type { KindDigests, OperationPlace } from './ranges.js';
import type { RepairAnswers, RepairCommand, RepairOutcomes, RepairQuery } from './repair-terms.js';
import type { ScrubAnswers, ScrubCommand, ScrubOutcomes, ScrubQuery } from './scrub-terms.js';
import type {
  Have,
  OperationPage,
  ParkedOperation,
  RefusedOperation,
  SignedHead,
  VerifiedOperation,
  WireOperation,
} from './wire.js';

/** Commands and queries of a store that replication uses. */
export type MeshCommand =
  | ApplyOperations
  | UseNonce
  | RetryParked
  | BeginEpoch
  | ReceiveMemory
  | SavePeerProgress
  | RepairCommand
  | ScrubCommand;
export type MeshQuery =
  | KnownOrigins
  | ReadOperations
  | ReadDigests
  | FindOperation
  | ListConflicts
  | ListNonces
  | MemoriesSince
  | ListPeerProgress
  | RepairQuery
  | ScrubQuery;

/** What is left of a message when its operations have been verified against each other, without the store. */
export interface VerifiedBatch {
  readonly operations: readonly VerifiedOperation[];
  /** One for each origin, over its last operation above. */
  readonly heads: readonly SignedHead[];
  readonly refused: readonly RefusedOperation[];
  /** Items that do not even say what they are. */
  readonly unreadable: number;
}

/** A nonce that a peer used. */
export interface UsedNonce {
  readonly peerId: string;
  /** SHA-256 of the nonce, hex. */
  readonly fingerprint: string;
  readonly usedAtMs: number;
  /** When it may be forgotten. */
  readonly keepUntilMs: number;
}

/** Takes operations of other nodes into the log and lets them take effect, each origin's in order. */
export interface ApplyOperations {
  readonly kind: 'apply-operations';
  /** The peer that sent them, which need not have made them. */
  readonly from: string;
  readonly operations: readonly VerifiedOperation[];
  /** Verified; each one's hash is the header hash of an operation above. */
  readonly heads: readonly SignedHead[];
  /** The nonce of the message that brought them; used in the same transaction. */
  readonly nonce: UsedNonce | null;
}

export interface ApplyOutcome {
  readonly applied: number;
  /** Known before. */
  readonly noop: number;
  readonly refused: readonly RefusedOperation[];
  /** Of these operations, those that are in the log without effect, now or from before. */
  readonly parked: readonly ParkedOperation[];
  /** What this node has of the origins named, after it. */
  readonly have: Have;
}

/** Fails with x_memory_nonce_replay when the nonce was used before. */
export interface UseNonce {
  readonly kind: 'use-nonce';
  readonly nonce: UsedNonce;
}

/** Offers parked operations to the rules again, for example after an upgrade; in the order of their coming. */
export interface RetryParked {
  readonly kind: 'retry-parked';
  /** Commit sequence after which to begin, and how many to leave out there. */
  readonly after: number;
  readonly skip: number;
  readonly limit: number;
}

/**
 * Goes on under a new epoch, because a peer knows operations of this one that the database has lost. What was written
 * here under numbers that the peer knows for other operations gets numbers of the new epoch.
 */
export interface BeginEpoch {
  readonly kind: 'begin-epoch';
  readonly epoch: string;
  readonly reason: string;
  /**
   * The last operation of the old origin that others have as well: what comes after it is renamed. Null: nothing was
   * lost that others have.
   */
  readonly keep: number | null;
}

/** A memory of a peer that knows no operations (reference-federation §1.7). */
export interface ReceiveMemory {
  readonly kind: 'receive-memory';
  /** Complete but for the stamps. */
  readonly memory: Memory;
  /** Globs that its sender may write; null means all. */
  readonly allowedNamespaces: readonly string[] | null;
  /** As of `store-memory`. */
  readonly archive: boolean;
}

/**
 * How far deliveries to one peer have come: what is owed to it is every own operation beyond `acked`, so the ledger of
 * failed deliveries is one line for each peer. A cache across restarts: the peer's next answer gives the truth.
 */
export interface PeerProgress {
  readonly peerId: string;
  /** The own origin that it is about. */
  readonly origin: string;
  /** The peer durably has the operations up to this one. */
  readonly acked: number;
  /** Last operation of the failed delivery; 0 when nothing failed since the last success. */
  readonly owedTo: number;
  readonly attempts: number;
  readonly quarantined: boolean;
  readonly cause: string | null;
  readonly firstFailedAtMs: number | null;
  readonly lastFailedAtMs: number | null;
  readonly nextTryAtMs: number | null;
  /** Release that the peer ran. */
  readonly version: string | null;
}

/** An own operation that a peer has without its having taken effect there. */
export interface PeerParked {
  readonly peerId: string;
  readonly origin: string;
  readonly seq: number;
  readonly reason: string;
  readonly notedAtMs: number;
}

export interface SavePeerProgress {
  readonly kind: 'save-peer-progress';
  readonly progress: readonly PeerProgress[];
  readonly parked: readonly PeerParked[];
  /** Parked before, in effect now. */
  readonly settled: readonly Pick<PeerParked, 'peerId' | 'origin' | 'seq'>[];
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

/** Where an operation of a subject put it that has an effect, or had to leave one to others. */
export interface SubjectPlace {
  readonly origin: string;
  readonly seq: number;
  readonly namespace: string;
  readonly seen: VersionVector;
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

export interface MeshOutcomes extends RepairOutcomes, ScrubOutcomes {
  readonly 'apply-operations': ApplyOutcome;
  readonly 'use-nonce': Readonly<Record<never, never>>;
  /** `last`: the commit sequence of the last one that was offered; null when none was left. */
  readonly 'retry-parked': { readonly applied: number; readonly last: number | null };
  readonly 'begin-epoch': { readonly origin: string };
  /** `id` is that of the row that holds the text now. */
  readonly 'receive-memory': { readonly id: string; readonly change: 'created' | 'updated' | 'unchanged' };
  readonly 'save-peer-progress': Readonly<Record<never, never>>;
}

export interface MeshAnswers extends RepairAnswers, ScrubAnswers {
  readonly 'known-origins': KnownOriginsAnswer;
  readonly 'read-operations': ReadOperationsAnswer;
  readonly 'read-digests': ReadDigestsAnswer;
  readonly 'find-operation': FoundOperation | null;
  readonly 'list-conflicts': readonly Conflict[];
  readonly 'list-nonces': readonly UsedNonce[];
  readonly 'memories-since': {
    readonly memories: readonly MemoryRow[];
    readonly more: boolean;
    /** The place of the last row that was looked at; null when there was none. */
    readonly last: MemoriesSince['after'] | null;
    /** Ids of rows that cannot be read and are left out; absent where there are none. */
    readonly damaged?: readonly string[];
  };
  readonly 'list-peer-progress': PeerProgressAnswer;
}
