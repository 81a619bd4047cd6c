import type { AuditEvent } from '../audit.js';
import type { RecallConsumption, RecallObservation } from '../commands.js';
import type { ArchivedRow, ForgetFilter, PurgeableRow } from '../life-commands.js';
import type { Link } from '../link.js';
import type { Memory, MemoryRow } from '../memory.js';
import type { EpochNotice } from '../mesh/epoch-notice.js';
import type { OperationPlace } from '../mesh/ranges.js';
import type { SavePeerProgress, UsedNonce, VerifiedOperation } from '../mesh/store-terms.js';
import type { ParkReason } from '../mesh/wire.js';
import type { MemoryImage, OperationKind, PurgeReason, Removal } from '../operation-log.js';
import type { QuotaLimits, QuotaUse } from '../quota.js';
import type { Dot, HistoricEdit, Settled } from '../replica.js';
import type { Result } from '../result.js';
import type { VersionVector } from '../version-vector.js';

/**
 * How a write decides. A decision is a generator: it yields the rows that it must read, the engine loads them inside
 * the write transaction and answers, and it returns the typed mutations to apply, or a failure. It is pure, so one
 * copy of the rules serves every engine, the simulator and replicated operations. Because a read may depend on the
 * answer to the one before, nothing has to be loaded on suspicion.
 */
export type Deciding<T> = Generator<ReadRequest, Result<Decision<T>>, never>;

/** A row that a decision needs. */
export type ReadRequest =
  | { readonly read: 'memory-by-id'; readonly id: string }
  | { readonly read: 'memory-life'; readonly id: string }
  | { readonly read: 'memory-by-title'; readonly title: string; readonly namespace: string }
  | { readonly read: 'title-expiry'; readonly title: string; readonly namespace: string }
  | { readonly read: 'expired-memories'; readonly before: string; readonly limit: number }
  | { readonly read: 'quota-use'; readonly holder: string; readonly namespace: string }
  | { readonly read: 'used-envelope'; readonly fingerprint: string }
  | { readonly read: 'agent-key'; readonly agentId: string }
  | { readonly read: 'oldest-observation' }
  | { readonly read: 'tombstone'; readonly id: string }
  | { readonly read: 'link-exists'; readonly link: LinkKey }
  | { readonly read: 'database-owner' }
  | { readonly read: 'archived-memory'; readonly id: string }
  | {
      readonly read: 'purgeable-memories';
      readonly before: string;
      readonly ownerId: string | null;
      readonly limit: number;
    }
  | { readonly read: 'forgettable-memories'; readonly filter: ForgetFilter; readonly limit: number }
  | { readonly read: 'last-edit'; readonly id: string }
  | { readonly read: 'log-origin' }
  | { readonly read: 'origin-head'; readonly origin: string }
  | { readonly read: 'operation-hash'; readonly origin: string; readonly seq: number }
  | { readonly read: 'parked-reason'; readonly origin: string; readonly seq: number }
  | { readonly read: 'nonce-used'; readonly peerId: string; readonly fingerprint: string }
  | { readonly read: 'subject-versions'; readonly id: string }
  | { readonly read: 'subject-history'; readonly id: string }
  | { readonly read: 'subject-namespaces'; readonly id: string }
  | { readonly read: 'subject-places'; readonly id: string }
  | { readonly read: 'link-stamp'; readonly link: LinkKey }
  | ({ readonly read: 'parked-operations' } & ParkedPage)
  | { readonly read: 'epoch-notices'; readonly origin: string }
  | { readonly read: 'renamed-whole'; readonly from: string; readonly keep: number; readonly to: string }
  | { readonly read: 'logged-hash'; readonly origin: string; readonly seq: number }
  | { readonly read: 'is-logged'; readonly origin: string; readonly seq: number }
  | { readonly read: 'subjects-beyond'; readonly origin: string; readonly seq: number }
  | { readonly read: 'subject-log'; readonly subject: string }
  | { readonly read: 'stored-subject'; readonly subject: string }
  | { readonly read: 'digest-holds'; readonly namespace: string }
  /** Applies what is decided so far, so that the reads that follow see it. */
  | { readonly read: 'after'; readonly mutations: readonly Mutation[] };

/** The part of a memory that reads may move. */
export type MemoryLife = Pick<
  MemoryRow,
  'id' | 'tier' | 'access_count' | 'last_accessed_at' | 'expires_at' | 'life_at'
>;

/** The last change of a memory in place, as the log has it. */
export interface LastEdit {
  /** The memory before it; null when the log no longer holds that. */
  readonly before: MemoryImage | null;
  /** The memory that the edit left. */
  readonly after: MemoryImage | null;
}

/** What a tombstone holds beside its stamps. */
export type StoredRemoval = Omit<Removal, 'image'> & { readonly seen: VersionVector };

/** What the tables hold of a subject, as far as it can be read. */
export interface StoredSubject {
  /** True for a row of a memory, readable or not. */
  readonly exists: boolean;
  readonly memory: MemoryRow | null;
  /** The namespace that the row counts for. */
  readonly namespace: string | null;
  /** The digest is that of the row, and the full text has an entry. */
  readonly whole: boolean;
  readonly tombstone: (Dot & StoredRemoval) | null;
  readonly siblings: readonly Pick<Dot, 'origin' | 'seq'>[];
  readonly link: { readonly link: Link; readonly namespace: string; readonly stamp: Dot } | null;
}

/** What identifies a link. */
export type LinkKey = Pick<Link, 'source_id' | 'target_id' | 'relation'>;

/** The process that does the embedding, expiry and replication for a database (design: architecture). */
export interface DatabaseOwner {
  readonly holder: string;
  readonly role: 'daemon' | 'mcp';
  /** Grows by one with every change of holder. */
  readonly fencing: number;
  /** Wall-clock milliseconds. */
  readonly expiresAtMs: number;
}

/** Facts of the call that the rules may use. */
export interface DecisionContext {
  /** Wall clock of the call. */
  readonly nowMs: number;
  /** The same as a canonical instant. */
  readonly now: string;
  /** What an agent may hold on this node. */
  readonly quota: QuotaLimits;
}

/**
 * A change to apply. Those with an `operation` are replicated: the engine appends the operation, stamps the row with
 * it and applies the change in one transaction, so that no replicated change can miss the log. The others are local.
 */
export type Mutation =
  | { readonly mutation: 'insert-memory'; readonly operation: OperationKind; readonly memory: Memory }
  | {
      readonly mutation: 'replace-memory';
      readonly operation: OperationKind;
      /** The row as it was. */
      readonly before: Memory;
      readonly memory: Memory;
      /** True when the embedded text changed, so that its vectors are stale. */
      readonly reembed: boolean;
      /** Set by reads that moved the expiry or tier. */
      readonly lifeAt?: string;
    }
  | {
      readonly mutation: 'remove-memory';
      readonly operation: 'delete' | 'expire' | 'archive';
      readonly memory: MemoryRow;
      readonly reason: string;
      /** True keeps a full copy in the archive. */
      readonly archive: boolean;
    }
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
      /** When it may be forgotten, because its date alone refuses it from then on. */
      readonly expiresAtMs: number;
    }
  | { readonly mutation: 'append-audit'; readonly event: AuditEvent }
  | { readonly mutation: 'record-recall'; readonly observation: RecallObservation }
  | { readonly mutation: 'consume-recall'; readonly consumption: RecallConsumption }
  | { readonly mutation: 'prune-observations'; readonly before: string; readonly limit: number }
  | { readonly mutation: 'save-peer-progress'; readonly command: SavePeerProgress }
  | { readonly mutation: 'put-database-owner'; readonly owner: DatabaseOwner }
  | {
      /** Moves an archived row back; its `seen` is that of its tombstone. */
      readonly mutation: 'restore-memory';
      readonly operation: 'restore';
      readonly memory: Memory;
    }
  | {
      readonly mutation: 'purge-archived';
      readonly operation: 'purge';
      readonly row: PurgeableRow;
      readonly reason: PurgeReason;
    }
  | {
      readonly mutation: 'insert-link';
      readonly link: Link;
      /** Namespace and row of the source; no row when only other nodes have it. */
      readonly namespace: string;
      readonly rid: number | null;
    }
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
  | {
      /** Brings a memory's row to what its versions mean. */
      readonly mutation: 'settle-memory';
      readonly id: string;
      readonly before: MemoryRow | null;
      readonly settled: Settled;
      /** The versions themselves when there are several; they are then kept. */
      readonly siblings: readonly Dot[];
      /** True for a subject that has been here before, so that an archived copy or a tombstone may stand beside it. */
      readonly known: boolean;
      /** What the archive keeps of a memory that goes. */
      readonly archive: MemoryImage | null;
    }
  | {
      readonly mutation: 'settle-link';
      readonly link: Link;
      readonly operation: Pick<VerifiedOperation, 'hlc' | 'origin' | 'seq' | 'seen' | 'namespace'>;
    }
  | {
      /** Makes the row of a memory anew from what its versions mean, whatever is there; null: there is to be none. */
      readonly mutation: 'rebuild-memory';
      readonly id: string;
      readonly settled: Settled | null;
      readonly siblings: readonly Dot[];
      readonly archive: MemoryImage | null;
    }
  | { readonly mutation: 'drop-link'; readonly link: LinkKey }
  /** The log takes an operation back whose hash its chain knows. */
  | { readonly mutation: 'restore-operation'; readonly operation: VerifiedOperation }
  | { readonly mutation: 'recount-digest'; readonly namespace: string }
  | { readonly mutation: 'recount-quotas'; readonly namespace: string }
  | { readonly mutation: 'drop-payloads'; readonly places: readonly OperationPlace[] }
  | { readonly mutation: 'note-suspects'; readonly subjects: readonly string[] }
  | { readonly mutation: 'drop-suspects'; readonly subjects: readonly string[] }
  /** Takes the row of a memory, or its tombstone, as it stands: nothing can tell what it was. */
  | { readonly mutation: 'accept-row'; readonly id: string }
  | {
      readonly mutation: 'note-integrity';
      readonly name: string;
      readonly facts: Readonly<Record<string, unknown>>;
    }
  | {
      readonly mutation: 'record-conflict';
      readonly loser: HistoricEdit;
      readonly winner: HistoricEdit;
      readonly subject: string;
      readonly namespace: string;
    }
  | { readonly mutation: 'drop-archived'; readonly id: string }
  | { readonly mutation: 'unpark'; readonly origin: string; readonly seq: number }
  | { readonly mutation: 'park-elsewhere'; readonly origin: string; readonly seq: number }
  | {
      readonly mutation: 'begin-epoch';
      readonly epoch: string;
      readonly reason: string;
      /** The last operation of the old origin that stays under it; later ones are renamed. */
      readonly keep: number;
      /** What others are told about them; null when there are none. */
      readonly notice: EpochNotice | null;
    }
  /** Takes a history that goes on under another origin out of its old one. */
  | {
      readonly mutation: 'set-branch-aside';
      readonly origin: string;
      readonly keep: number;
      readonly to: string;
    };

export interface Decision<T> {
  readonly mutations: readonly Mutation[];
  readonly value: T;
}

export function decided<T>(value: T, mutations: readonly Mutation[]): Result<Decision<T>> {
  return { ok: true, value: { mutations, value } };
}

/** Reads one memory by its exact id, expired or not. */
export function* memoryById(id: string): Generator<ReadRequest, MemoryRow | null, never> {
  return (yield { read: 'memory-by-id', id }) as MemoryRow | null;
}

/** Reads only how a memory lives, by its exact id, expired or not. */
export function* memoryLife(id: string): Generator<ReadRequest, MemoryLife | null, never> {
  return (yield { read: 'memory-life', id }) as MemoryLife | null;
}

/** Reads the current memory of a (title, namespace), expired or not. */
export function* memoryByTitle(
  title: string,
  namespace: string,
): Generator<ReadRequest, MemoryRow | null, never> {
  return (yield { read: 'memory-by-title', title, namespace }) as MemoryRow | null;
}

/** Reads only when the holder of a title expires (null inside: never); null when the title is free. */
export function* titleExpiry(
  title: string,
  namespace: string,
): Generator<ReadRequest, { readonly expires_at: string | null } | null, never> {
  return (yield { read: 'title-expiry', title, namespace }) as { expires_at: string | null } | null;
}

export function* expiredMemories(
  before: string,
  limit: number,
): Generator<ReadRequest, readonly MemoryRow[], never> {
  return (yield { read: 'expired-memories', before, limit }) as readonly MemoryRow[];
}

/** When the oldest recall of the ledger was observed. */
export function* oldestObservation(): Generator<ReadRequest, string | null, never> {
  return (yield { read: 'oldest-observation' }) as string | null;
}

export function* databaseOwner(): Generator<ReadRequest, DatabaseOwner | null, never> {
  return (yield { read: 'database-owner' }) as DatabaseOwner | null;
}

/** Reads what a holder has used of its quota; null before its first write. */
export function* quotaUse(holder: string, namespace: string): Generator<ReadRequest, QuotaUse | null, never> {
  return (yield { read: 'quota-use', holder, namespace }) as QuotaUse | null;
}

/** The memory that a signed envelope was used for; null when it is unused. */
export function* usedEnvelope(fingerprint: string): Generator<ReadRequest, string | null, never> {
  return (yield { read: 'used-envelope', fingerprint }) as string | null;
}

/** The key that is bound to an agent, standard base64; null when it is not registered or has none. */
export function* agentKey(agentId: string): Generator<ReadRequest, string | null, never> {
  return (yield { read: 'agent-key', agentId }) as string | null;
}

/** Reads one archived memory by its exact id. */
export function* archivedMemory(id: string): Generator<ReadRequest, ArchivedRow | null, never> {
  return (yield { read: 'archived-memory', id }) as ArchivedRow | null;
}

/** Archived rows up to an instant, the oldest first. */
export function* purgeableMemories(
  before: string,
  ownerId: string | null,
  limit: number,
): Generator<ReadRequest, readonly PurgeableRow[], never> {
  return (yield { read: 'purgeable-memories', before, ownerId, limit }) as readonly PurgeableRow[];
}

/** Live rows that a forget means and its viewer may remove, lowest row number first. */
export function* forgettableMemories(
  filter: ForgetFilter,
  limit: number,
): Generator<ReadRequest, readonly MemoryRow[], never> {
  return (yield { read: 'forgettable-memories', filter, limit }) as readonly MemoryRow[];
}

/** The last edit of a memory since it was stored; null when there is none. */
export function* lastEdit(id: string): Generator<ReadRequest, LastEdit | null, never> {
  return (yield { read: 'last-edit', id }) as LastEdit | null;
}

/** Reads what a deleted memory had seen, and when it went; null when the id was never deleted. */
export function* tombstoneOf(
  id: string,
): Generator<ReadRequest, { readonly seen: VersionVector; readonly deleted_at: string } | null, never> {
  return (yield { read: 'tombstone', id }) as { seen: VersionVector; deleted_at: string } | null;
}

/** True when the link is stored. */
export function* linkBetween(link: LinkKey): Generator<ReadRequest, boolean, never> {
  return (yield { read: 'link-exists', link }) as boolean;
}

/** A place among the operations in the order of their coming. */
export interface ParkedPage {
  /** Commit sequence. */
  readonly after: number;
  readonly skip: number;
  readonly limit: number;
}

/** Applies mutations now; what is read next sees them. */
export function* after(mutations: readonly Mutation[]): Generator<ReadRequest, void, never> {
  yield { read: 'after', mutations };
}
