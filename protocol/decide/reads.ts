import type { QuotaUse } from '../agents/quota.js';
import type { Ask } from '../ask.js';
import type { Subject } from '../kinds/kind.js';
import type { MemoryImage } from '../kinds/memory-kind.js';
import type { Dot, Facts, Version } from '../kinds/version.js';
import type { ArchivedRow, PurgeableRow } from '../lifecycle/archived-memory.js';
import type { ForgetFilter } from '../memory/forget-filter.js';
import type { MemoryRow } from '../memory/memory.js';
import type { EpochNotice } from '../mesh/epoch-notice.js';
import type { ParkReason, WireOperation } from '../mesh/wire.js';
import type { LoggedOperation } from '../replication/derive.js';
import type { UsedNonce } from '../replication/used-nonce.js';
import type { HistoricEdit, SubjectPlace } from '../replication/versions.js';
import type { VersionVector } from '../version-vector.js';
import type { Mutation } from './mutations.js';
import type { DatabaseOwner, Row } from './rows.js';

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

/** What a tombstone holds. */
export interface StoredTombstone extends Dot {
  readonly namespace: string;
  readonly seen: VersionVector;
  readonly word: string;
  readonly reason: string;
  /** Null for facts that cannot be read. */
  readonly facts: Facts | null;
}

/** What the tables hold of a subject, as far as it can be read. */
export interface StoredSubject {
  /** True for a row, readable or not. */
  readonly exists: boolean;
  /** Null for a row that cannot be read. */
  readonly row: Row | null;
  /** The namespace that the row counts for. */
  readonly counted: string | null;
  /** The digest is that of the row, and its indexes have an entry. */
  readonly whole: boolean;
  readonly tombstone: StoredTombstone | null;
  readonly siblings: readonly Pick<Dot, 'origin' | 'seq'>[];
}

/** A place among the operations in the order of their coming. */
export interface ParkedPage {
  /** Commit sequence. */
  readonly after: number;
  readonly skip: number;
  readonly limit: number;
}

interface TitleKey {
  readonly title: string;
  readonly namespace: string;
}

interface OriginSeq {
  readonly origin: string;
  readonly seq: number;
}

type Nothing = Readonly<Record<never, never>>;

/** Everything that a decision may read: each request with its answer. Engines answer this map. */
export interface Reads {
  /** A memory by its exact id, expired or not. */
  'memory-by-id': Ask<{ readonly id: string }, MemoryRow | null>;
  /** How a memory lives, by its exact id, expired or not. */
  'memory-life': Ask<{ readonly id: string }, MemoryLife | null>;
  /** The current memory of a (title, namespace), expired or not. */
  'memory-by-title': Ask<TitleKey, MemoryRow | null>;
  /** When the holder of a title expires (null inside: never); null when the title is free. */
  'title-expiry': Ask<TitleKey, { readonly expires_at: string | null } | null>;
  'expired-memories': Ask<{ readonly before: string; readonly limit: number }, readonly MemoryRow[]>;
  /** What a holder has used of its quota; null before its first write. */
  'quota-use': Ask<{ readonly holder: string; readonly namespace: string }, QuotaUse | null>;
  /** The memory that a signed envelope was used for; null when it is unused. */
  'used-envelope': Ask<{ readonly fingerprint: string }, string | null>;
  /** The key that is bound to an agent, standard base64; null when it is not registered or has no key. */
  'agent-key': Ask<{ readonly agentId: string }, string | null>;
  /** When the oldest recall of the ledger was observed. */
  'oldest-observation': Ask<Nothing, string | null>;
  'database-owner': Ask<Nothing, DatabaseOwner | null>;
  'archived-memory': Ask<{ readonly id: string }, ArchivedRow | null>;
  /** Archived rows up to an instant, the oldest first. */
  'purgeable-memories': Ask<
    { readonly before: string; readonly ownerId: string | null; readonly limit: number },
    readonly PurgeableRow[]
  >;
  /** Live rows that a forget means and its viewer may remove, lowest row number first. */
  'forgettable-memories': Ask<
    { readonly filter: ForgetFilter; readonly limit: number },
    readonly MemoryRow[]
  >;
  /** The last edit of a memory since it was stored; null when there is none. */
  'last-edit': Ask<{ readonly id: string }, LastEdit | null>;

  /** The row of a subject; null when it has none. */
  'subject-row': Ask<Subject, Row | null>;
  /** What a removed subject had seen, and when it went; null when it was never removed. */
  tombstone: Ask<Subject, { readonly seen: VersionVector; readonly deleted_at: string } | null>;
  /** The maximal versions of a subject; empty for one that was never written. */
  'subject-versions': Ask<Subject, readonly Version[]>;
  /** The contested operations of a subject that the log has. */
  'subject-history': Ask<Subject, readonly HistoricEdit[]>;
  /** All namespaces that operations of a subject name, whatever became of them. */
  'subject-namespaces': Ask<Subject, readonly string[]>;
  /** Where the operations of a subject put it that have an effect, or had to leave one to others. */
  'subject-places': Ask<Subject, readonly SubjectPlace[]>;
  /** All operations of a subject in the log; a payload that is not its hash's is null. */
  'subject-log': Ask<Subject, readonly LoggedOperation[]>;
  /** What the tables hold of a subject, which may be damaged. */
  'stored-subject': Ask<Subject, StoredSubject>;
  /** Subjects of the operations of an origin beyond one of them. */
  'subjects-beyond': Ask<OriginSeq, readonly Subject[]>;
  /** True when the digest of a namespace is the sum of the digests of its rows of a kind. */
  'digest-holds': Ask<{ readonly kind: string; readonly namespace: string }, boolean>;
  /** Records of a kind whose member has a value, by id. */
  'records-with': Ask<
    { readonly kind: string; readonly member: string; readonly value: string; readonly limit: number },
    readonly Row[]
  >;

  /** The origin that this database writes under, and its last sequence. */
  'log-origin': Ask<Nothing, OriginSeq>;
  /** Where the chain of a foreign origin ends; null before its first operation. */
  'origin-head': Ask<{ readonly origin: string }, { readonly seq: number; readonly head: string } | null>;
  /** The header hash of an operation in the log; null for one that the log does not hold. */
  'operation-hash': Ask<OriginSeq, string | null>;
  /** Why an operation of the log is without effect; null when it has one. */
  'parked-reason': Ask<OriginSeq, ParkReason | null>;
  /** True when a peer's nonce is remembered. */
  'nonce-used': Ask<Pick<UsedNonce, 'peerId' | 'fingerprint'>, boolean>;
  /** Operations in the log without effect that may have one now, each with its commit sequence. */
  'parked-operations': Ask<ParkedPage, readonly (readonly [number, WireOperation])[]>;
  /** Notices about an origin whose numbers were given twice. */
  'epoch-notices': Ask<{ readonly origin: string }, readonly EpochNotice[]>;
  /** True when each operation of an origin beyond one of them is here as an operation of another, in the same order. */
  'renamed-whole': Ask<{ readonly from: string; readonly keep: number; readonly to: string }, boolean>;
  /** The hash of the header that the log holds at a place, right or wrong; null where it holds no header. */
  'logged-hash': Ask<OriginSeq, string | null>;
  /** True when the log has an operation at a place. */
  'is-logged': Ask<OriginSeq, boolean>;
  /** Applies what is decided so far, so that the reads that follow see it. */
  after: Ask<{ readonly mutations: readonly Mutation[] }, void>;
}

export type ReadName = keyof Reads;

/** A row that a decision needs. */
export type ReadRequest = {
  [K in ReadName]: { readonly read: K } & Reads[K]['request'];
}[ReadName];

/** A decision that reads, and then goes on with the answer. */
export type Reading<T> = Generator<ReadRequest, T, never>;

/** Reads what the map above says. The one place that trusts the engine to answer its own map. */
export function* read<K extends ReadName>(
  name: K,
  request: Reads[K]['request'],
): Reading<Reads[K]['answer']> {
  return (yield { read: name, ...request } as unknown as ReadRequest) as Reads[K]['answer'];
}

/** Applies mutations now; what is read next sees them. */
export const after = (mutations: readonly Mutation[]): Reading<void> => read('after', { mutations });
export const memoryById = (id: string): Reading<MemoryRow | null> => read('memory-by-id', { id });
export const memoryByTitle = (title: string, namespace: string): Reading<MemoryRow | null> =>
  read('memory-by-title', { title, namespace });
