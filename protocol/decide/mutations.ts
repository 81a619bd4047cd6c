import type { MemoryId, Origin, SubjectId } from '../base/meanings.js';
import type { VersionVector } from '../base/version-vector.js';
import type { Subject } from '../kinds/kind.js';
import type { Dot, Facts, Settled } from '../kinds/version.js';
import type { AuditEvent } from '../log/audit.js';
import type { EpochNotice } from '../log/epoch-notice.js';
import type { OperationPlace } from '../log/ranges.js';
import type { ParkReason, VerifiedOperation } from '../log/wire-operation.js';
import type { EncoderRef } from '../maintenance/encoder-ref.js';
import type { PurgeableRow } from '../memory/archived-memory.js';
import type { LookAlikePair } from '../memory/look-alikes.js';
import type { PurgeReason } from '../memory/memory-kind.js';
import type { RecallConsumption, RecallObservation } from '../memory/recall-ledger.js';
import type { SavePeerProgress } from '../replication/peer-progress.js';
import type { UsedNonce } from '../replication/used-nonce.js';
import type { HistoricEdit } from '../replication/versions.js';
import type { OutboxEvent } from '../webhooks/outbox.js';
import type { LostEvents } from '../webhooks/queries.js';
import type { Subscription } from '../webhooks/subscription.js';
import type { Announcement } from '../webhooks/webhook-event.js';
import type { QuotaLimits } from './permissions.js';
import type { DatabaseOwner, Row } from './rows.js';

/**
 * A change to apply. `write` and `remove` are replicated: the engine appends their operation, stamps the row with it
 * and applies the change in one transaction, so every replicated change is in the log. The others are local, or repair
 * rows from the log.
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
      /** The vectors of the encoder that takes the place of the searched one. */
      readonly coming: boolean;
    }
  /** Gives an encoder a role; null takes the role away. */
  | {
      readonly mutation: 'put-encoder';
      readonly role: 'searched' | 'coming';
      readonly encoder: EncoderRef | null;
    }
  /** Drops the searched vectors; every memory waits. */
  | { readonly mutation: 'clear-searched' }
  /** The coming encoder becomes the searched one. */
  | { readonly mutation: 'switch-encoder'; readonly encoder: EncoderRef }
  | { readonly mutation: 'requeue-embeddings'; readonly rids: readonly number[] }
  | {
      readonly mutation: 'flag-near-duplicates';
      readonly pairs: readonly LookAlikePair[];
      readonly through: number | null;
    }
  | {
      /**
       * Counts writes against a quota's day. The engine counts bytes with every row that is added, changed or
       * removed.
       */
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
      readonly memoryId: MemoryId;
      /** When the entry may be deleted: after this instant the envelope's date is enough to refuse it. */
      readonly expiresAtMs: number;
    }
  | { readonly mutation: 'append-audit'; readonly event: AuditEvent }
  | { readonly mutation: 'add-subscription'; readonly subscription: Subscription }
  /** Stores the counts and the status of a subscription. */
  | { readonly mutation: 'put-subscription'; readonly subscription: Subscription }
  /** Removes a subscription with its events and dead letters. */
  | { readonly mutation: 'drop-subscription'; readonly id: string }
  /** Records an event for all subscriptions. The engine gives it its place. */
  | { readonly mutation: 'announce'; readonly announced: Announcement }
  /** Notes that subscriptions have nothing to get up to a place, except some. */
  | { readonly mutation: 'pass-events'; readonly through: number; readonly except: readonly string[] }
  /** Drops recorded events up to a place that no subscription needs, and what subscriptions lose. */
  | ({ readonly mutation: 'drop-announced' } & LostEvents)
  /** Stores the state of the delivery of an event, in a row of its own. */
  | { readonly mutation: 'put-event'; readonly event: OutboxEvent }
  | { readonly mutation: 'add-dead-letter'; readonly event: OutboxEvent; readonly lastFailedAt: string }
  | { readonly mutation: 'drop-dead-letters'; readonly correlationIds: readonly string[] }
  | {
      /** Removes events, with their dead letters; those that waited count as dropped. */
      readonly mutation: 'drop-events';
      readonly events: readonly Pick<OutboxEvent, 'subscription_id' | 'seq'>[];
    }
  | { readonly mutation: 'record-recall'; readonly observation: RecallObservation }
  | { readonly mutation: 'consume-recall'; readonly consumption: RecallConsumption }
  | { readonly mutation: 'prune-observations'; readonly before: string; readonly limit: number }
  | { readonly mutation: 'save-peer-progress'; readonly command: SavePeerProgress }
  | { readonly mutation: 'put-database-owner'; readonly owner: DatabaseOwner }
  | { readonly mutation: 'purge-archived'; readonly row: PurgeableRow; readonly reason: PurgeReason }
  | { readonly mutation: 'drop-archived'; readonly id: string }
  | { readonly mutation: 'use-nonce'; readonly nonce: UsedNonce }
  | {
      /** Appends an operation of another origin to the log. */
      readonly mutation: 'append-foreign';
      readonly operation: VerifiedOperation;
      /** Why the operation has no effect; null when it has one, or had one before. */
      readonly parked: ParkReason | null;
      /** The origin's signature over the head that this operation makes, if one came with it. */
      readonly headSignature: string | null;
    }
  /** Puts an operation back into the log whose hash the chain knows. */
  | { readonly mutation: 'restore-operation'; readonly operation: VerifiedOperation }
  | { readonly mutation: 'recount-digest'; readonly kind: string; readonly namespace: string }
  /** Indexes the texts of rows again, from one row number down to another. */
  | { readonly mutation: 'reindex-texts'; readonly from: number; readonly to: number }
  | { readonly mutation: 'recount-quotas'; readonly namespace: string }
  | { readonly mutation: 'drop-payloads'; readonly places: readonly OperationPlace[] }
  | { readonly mutation: 'note-suspects'; readonly subjects: readonly Subject[] }
  | { readonly mutation: 'drop-suspects'; readonly subjects: readonly Subject[] }
  /** Accepts a row or tombstone as it is, because no source can tell its former contents. */
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
      readonly subject: SubjectId;
      readonly namespace: string;
    }
  /** Forgets which operations of a subject lost; the caller lists them anew. */
  | ({ readonly mutation: 'forget-conflicts' } & Subject)
  | { readonly mutation: 'unpark'; readonly origin: Origin; readonly seq: number }
  | { readonly mutation: 'park-elsewhere'; readonly origin: Origin; readonly seq: number }
  | {
      readonly mutation: 'begin-epoch';
      readonly epoch: string;
      readonly reason: string;
      /** The last operation that stays under the old origin; later ones are renamed. */
      readonly keep: number;
      /** The notice that tells other nodes about the renamed operations; null when no operation was renamed. */
      readonly notice: EpochNotice | null;
    }
  | {
      /**
       * Sets the clock of the log back to the present. The ends of own origins that are stamped ahead of it are renamed,
       * each to an epoch of its own, and get new stamps in the same order; the last epoch is the one that continues.
       */
      readonly mutation: 'reset-clock';
      readonly reason: string;
      readonly tails: readonly RenamedTail[];
    }
  /** Moves a history that continues under another origin out of its old origin. */
  | {
      readonly mutation: 'set-branch-aside';
      readonly origin: Origin;
      readonly keep: number;
      readonly to: string;
    };

/** The end of an own origin, from the operation after `keep` on, which gets another epoch. */
export interface RenamedTail {
  readonly from: Origin;
  readonly keep: number;
  readonly epoch: string;
  readonly notice: EpochNotice;
}

/** Writes a subject: inserts its row, or replaces it. */
export interface Write<I extends object = object> {
  readonly mutation: 'write';
  readonly kind: string;
  readonly word: string;
  readonly id: string;
  readonly namespace: string;
  /** The subject's version vector before the write; for a subject that comes back, its tombstone's version vector. */
  readonly seen: VersionVector;
  /** The row before the write; null inserts one. */
  readonly before: I | null;
  readonly image: I;
  /** For a memory: true when the embedded text changed, so its vectors are stale. */
  readonly reembed?: boolean;
  /** For a memory: set by reads that moved the expiry or tier. */
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
  /** The row before the removal. */
  readonly before: I;
  readonly reason: string;
  readonly facts: Facts;
  /** True keeps a full copy in the archives of all nodes. */
  readonly keepCopy: boolean;
}

/** Makes the row of a subject match its versions. */
export interface Settle {
  readonly mutation: 'settle';
  readonly kind: string;
  readonly id: string;
  readonly before: Row | null;
  readonly settled: Settled;
  /** The versions when there are several; they are then stored too. */
  readonly siblings: readonly Dot[];
  /** True for a subject that this node already knew, so it may have an archived copy or a tombstone. */
  readonly known: boolean;
  /** The image that the archive keeps of a removed subject. */
  readonly archive: object | null;
}

/** Rebuilds the row of a subject from its versions, whatever the table holds; null removes the row. */
export interface Rebuild {
  readonly mutation: 'rebuild';
  readonly kind: string;
  readonly id: string;
  readonly settled: Settled | null;
  readonly siblings: readonly Dot[];
  readonly archive: object | null;
}
