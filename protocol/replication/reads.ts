import type { Origin, PeerId } from '../base/meanings.js';
import type { VersionVector } from '../base/version-vector.js';
import { defineRead } from '../decide/reads.js';
import type { Row } from '../decide/rows.js';
import type { Subject } from '../kinds/kind.js';
import type { Dot, Facts } from '../kinds/version.js';
import type { EpochNotice } from '../log/epoch-notice.js';
import type { ParkReason, WireOperation } from '../log/wire-operation.js';
import type { LoggedOperation } from './derive.js';
import type { UsedNonce } from './used-nonce.js';
import type { HistoricEdit, SubjectPlace } from './versions.js';

/** The contents of a tombstone. */
export interface StoredTombstone extends Dot {
  readonly namespace: string;
  readonly seen: VersionVector;
  readonly word: string;
  readonly reason: string;
  /** Null when the facts cannot be read. */
  readonly facts: Facts | null;
}

/** What the tables hold about a subject, as far as it can be read. */
export interface StoredSubject {
  /** True when there is a row, readable or not. */
  readonly exists: boolean;
  /** Null when there is no row, or it cannot be read. */
  readonly row: Row | null;
  /** The namespace whose digest counts the row. */
  readonly counted: string | null;
  /** True when the digest matches the row and its indexes have an entry. */
  readonly whole: boolean;
  readonly tombstone: StoredTombstone | null;
  readonly siblings: readonly Pick<Dot, 'origin' | 'seq'>[];
}

/** A page of parked operations, in order of arrival. */
export interface ParkedPage {
  /** Commit sequence. */
  readonly after: number;
  readonly skip: number;
  readonly limit: number;
}

interface OriginSeq {
  readonly origin: Origin;
  readonly seq: number;
}

/** The part of the own log that is stamped so far ahead of the clock that no other node takes it now. */
export interface LogAhead {
  /** How far the clock of the log is ahead, in milliseconds; 0 when other nodes take its stamps. */
  readonly aheadMs: number;
  /** The ends of own origins that are ahead, the oldest first. */
  readonly tails: readonly {
    readonly origin: Origin;
    /** The last operation that is not ahead. */
    readonly keep: number;
    readonly operations: number;
  }[];
}

/** The contested operations of a subject that the log has. */
export const historyOf = defineRead<Subject, readonly HistoricEdit[]>('subject-history');
/** All namespaces that operations of a subject name, with or without effect. */
export const namespacesOf = defineRead<Subject, readonly string[]>('subject-namespaces');
/**
 * The namespaces in which operations of a subject placed it: operations with an effect, and moves out of this node's
 * scope.
 */
export const placesOf = defineRead<Subject, readonly SubjectPlace[]>('subject-places');
/** True while no other node has written here or was written to. */
export const writesAlone = defineRead<void, boolean>('writes-alone');
/** All operations of a subject in the log; a payload that does not match its hash is null. */
export const logOf = defineRead<Subject, readonly LoggedOperation[]>('subject-log');
/** What the tables hold about a subject, which may be damaged. */
export const storedSubject = defineRead<Subject, StoredSubject>('stored-subject');
/** Subjects of an origin's operations after a sequence. */
export const subjectsBeyond = defineRead<OriginSeq, readonly Subject[]>('subjects-beyond');
/** True when the digest of a namespace is the sum of the digests of its rows of a kind. */
export const digestHolds = defineRead<{ readonly kind: string; readonly namespace: string }, boolean>(
  'digest-holds',
);
/** What of the own log is stamped ahead of the clock. */
export const logAhead = defineRead<void, LogAhead>('log-ahead');
/** The end of a foreign origin's chain; null before its first operation. */
export const originHead = defineRead<
  { readonly origin: Origin },
  { readonly seq: number; readonly head: string } | null
>('origin-head');
/** How many foreign origins of a peer the log has. */
export const originsOf = defineRead<{ readonly peerId: PeerId }, number>('origins-of');
/** The header hash of an operation in the log; null when the log does not hold it. */
export const operationHash = defineRead<OriginSeq, string | null>('operation-hash');
/** Why an operation in the log has no effect; null when it has one. */
export const parkedReason = defineRead<OriginSeq, ParkReason | null>('parked-reason');
/** True when a peer's nonce is remembered. */
export const nonceUsed = defineRead<Pick<UsedNonce, 'peerId' | 'fingerprint'>, boolean>('nonce-used');
/** Operations in the log without effect that may get one now, each with its commit sequence. */
export const parkedOperations = defineRead<ParkedPage, readonly (readonly [number, WireOperation])[]>(
  'parked-operations',
);
/** Notices about an origin that used sequence numbers twice. */
export const epochNotices = defineRead<{ readonly origin: Origin }, readonly EpochNotice[]>('epoch-notices');
/**
 * True when each operation of an origin after a sequence is also here as an operation of another origin, in the same
 * order.
 */
export const renamedWhole = defineRead<
  { readonly from: string; readonly keep: number; readonly to: string },
  boolean
>('renamed-whole');
/** The hash of the header that the log holds at a position, right or wrong; null when it holds no header there. */
export const loggedHash = defineRead<OriginSeq, string | null>('logged-hash');
/** True when the log has an operation at a position. */
export const isLogged = defineRead<OriginSeq, boolean>('is-logged');
