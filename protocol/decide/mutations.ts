import type { QuotaLimits } from '../agents/quota.js';
import type { AuditEvent } from '../audit.js';
import type { Subject } from '../kinds/kind.js';
import type { PurgeReason } from '../kinds/memory-kind.js';
import type { Dot, Facts, Settled } from '../kinds/version.js';
import type { PurgeableRow } from '../lifecycle/archived-memory.js';
import type { RecallConsumption, RecallObservation } from '../memory/recall-ledger.js';
import type { EpochNotice } from '../mesh/epoch-notice.js';
import type { OperationPlace } from '../mesh/ranges.js';
import type { ParkReason, VerifiedOperation } from '../mesh/wire.js';
import type { SavePeerProgress } from '../replication/peer-progress.js';
import type { UsedNonce } from '../replication/used-nonce.js';
import type { HistoricEdit } from '../replication/versions.js';
import type { VersionVector } from '../version-vector.js';
import type { DatabaseOwner, Row } from './rows.js';

/**
 * A change to apply. `write` and `remove` are replicated: the engine appends their operation, stamps the row with it and
 * applies the change in one transaction, so that no replicated change can miss the log. The others are local, or
 * bring rows to what the log says.
 */
export type Mutation =
  | Write
  | Remove
  | Settle
  | Rebuild
  | {
      readonly mutation: 'count-access';
      readonly id: string;
      readonly accessCount: number;
      readonly lastAccessedAt: string;
    }
  | {
      readonly mutation: 'put-embedding';
      readonly rid: number;
      readonly state: number;
      readonly model: string;
      readonly dim: number;
      readonly vectors: Uint8Array | null;
    }
  | {
      /** Counts against the day of a quota; bytes are counted by the engine with every row that comes, changes or goes. */
      readonly mutation: 'charge-quota';
      readonly holder: string;
      readonly namespace: string;
      readonly limits: QuotaLimits;
      readonly memories: number;
      readonly links: number;
    }
  | {
      readonly mutation: 'use-envelope';
      readonly fingerprint: string;
      readonly memoryId: string;
      /** When it may be forgotten: from then on its date is enough to refuse it. */
      readonly expiresAtMs: number;
    }
  | { readonly mutation: 'append-audit'; readonly event: AuditEvent }
  | { readonly mutation: 'record-recall'; readonly observation: RecallObservation }
  | { readonly mutation: 'consume-recall'; readonly consumption: RecallConsumption }
  | { readonly mutation: 'prune-observations'; readonly before: string; readonly limit: number }
  | { readonly mutation: 'save-peer-progress'; readonly command: SavePeerProgress }
  | { readonly mutation: 'put-database-owner'; readonly owner: DatabaseOwner }
  | { readonly mutation: 'purge-archived'; readonly row: PurgeableRow; readonly reason: PurgeReason }
  | { readonly mutation: 'drop-archived'; readonly id: string }
  | { readonly mutation: 'use-nonce'; readonly nonce: UsedNonce }
  | {
      /** An operation of another origin joins the log. */
      readonly mutation: 'append-foreign';
      readonly operation: VerifiedOperation;
      /** Why it has no effect; null when it has, or had before. */
      readonly parked: ParkReason | null;
      /** The origin's signature over the head that it makes, if it came with one. */
      readonly headSignature: string | null;
    }
  /** The log takes an operation back whose hash its chain knows. */
  | { readonly mutation: 'restore-operation'; readonly operation: VerifiedOperation }
  | { readonly mutation: 'recount-digest'; readonly kind: string; readonly namespace: string }
  | { readonly mutation: 'recount-quotas'; readonly namespace: string }
  | { readonly mutation: 'drop-payloads'; readonly places: readonly OperationPlace[] }
  | { readonly mutation: 'note-suspects'; readonly subjects: readonly Subject[] }
  | { readonly mutation: 'drop-suspects'; readonly subjects: readonly Subject[] }
  /** Accepts a row or a tombstone as it stands: nothing can tell what it was. */
  | ({ readonly mutation: 'accept-row' } & Subject)
  | {
      readonly mutation: 'note-integrity';
      readonly name: string;
      readonly facts: Readonly<Record<string, unknown>>;
    }
  | {
      readonly mutation: 'record-conflict';
      readonly kind: string;
      readonly loser: HistoricEdit;
      readonly winner: HistoricEdit;
      readonly subject: string;
      readonly namespace: string;
    }
  | { readonly mutation: 'unpark'; readonly origin: string; readonly seq: number }
  | { readonly mutation: 'park-elsewhere'; readonly origin: string; readonly seq: number }
  | {
      readonly mutation: 'begin-epoch';
      readonly epoch: string;
      readonly reason: string;
      /** The last operation of the old origin that stays under it; later ones are renamed. */
      readonly keep: number;
      /** The notice for other nodes about them; null when there are none. */
      readonly notice: EpochNotice | null;
    }
  /** Takes a history that goes on under another origin out of its old one. */
  | {
      readonly mutation: 'set-branch-aside';
      readonly origin: string;
      readonly keep: number;
      readonly to: string;
    };

/** Writes a subject: inserts its row, or replaces it. */
export interface Write<I extends object = object> {
  readonly mutation: 'write';
  readonly kind: string;
  readonly word: string;
  readonly id: string;
  readonly namespace: string;
  /** The subject's version vector before the write; that of its tombstone when it comes back. */
  readonly seen: VersionVector;
  /** The row as it was; null inserts one. */
  readonly before: I | null;
  readonly image: I;
  /** Of a memory: true when the embedded text changed, so that its vectors are stale. */
  readonly reembed?: boolean;
  /** Of a memory: set by reads that moved the expiry or tier. */
  readonly lifeAt?: string;
}

/** Removes a subject and leaves a tombstone. */
export interface Remove<I extends object = object> {
  readonly mutation: 'remove';
  readonly kind: string;
  readonly word: string;
  readonly id: string;
  readonly namespace: string;
  readonly seen: VersionVector;
  /** The row as it was. */
  readonly before: I;
  readonly reason: string;
  readonly facts: Facts;
  /** True keeps a full copy in the archives of all nodes. */
  readonly keepCopy: boolean;
}

/** Brings the row of a subject to what its versions mean. */
export interface Settle {
  readonly mutation: 'settle';
  readonly kind: string;
  readonly id: string;
  readonly before: Row | null;
  readonly settled: Settled;
  /** The versions themselves when there are several; they are then kept. */
  readonly siblings: readonly Dot[];
  /** True for a subject that has been here before, so that an archived copy or a tombstone may stand beside it. */
  readonly known: boolean;
  /** The image that the archive keeps of a subject that goes. */
  readonly archive: object | null;
}

/** Builds the row of a subject again from what its versions mean, whatever is there; null: there is to be no row. */
export interface Rebuild {
  readonly mutation: 'rebuild';
  readonly kind: string;
  readonly id: string;
  readonly settled: Settled | null;
  readonly siblings: readonly Dot[];
  readonly archive: object | null;
}
