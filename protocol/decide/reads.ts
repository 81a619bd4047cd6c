import type { Ask } from '../base/ask.js';
import type { AgentId, Instant, MemoryId, Origin, PeerId } from '../base/meanings.js';
import type { VersionVector } from '../base/version-vector.js';
import type { QuotaUse } from '../identity/quota.js';
import type { Subject } from '../kinds/kind.js';
import type { Dot, Facts, Version } from '../kinds/version.js';
import type { LinkKey, Relation } from '../links/link.js';
import type { EpochNotice } from '../log/epoch-notice.js';
import type { Scope } from '../log/scope.js';
import type { ParkReason, WireOperation } from '../log/wire-operation.js';
import type { Encoders } from '../maintenance/encoder-ref.js';
import type { ArchivedRow, PurgeableRow } from '../memory/archived-memory.js';
import type { ForgetFilter } from '../memory/forget-filter.js';
import type { MemoryRow } from '../memory/memory.js';
import type { MemoryImage } from '../memory/memory-kind.js';
import type { RecallConsumption, RecalledMemory } from '../memory/recall-ledger.js';
import type { Standard } from '../memory/standard-kind.js';
import type { LoggedOperation } from '../replication/derive.js';
import type { UsedNonce } from '../replication/used-nonce.js';
import type { HistoricEdit, SubjectPlace } from '../replication/versions.js';
import type { Rule } from '../rules/rule-kind.js';
import type { OutboxEvent } from '../webhooks/outbox.js';
import type { LostEvents } from '../webhooks/queries.js';
import type { Subscription } from '../webhooks/subscription.js';
import type { Mutation } from './mutations.js';
import type { DatabaseOwner, Row } from './rows.js';

/** The part of a memory that reads may move. */
export type MemoryLife = Pick<
  MemoryRow,
  'id' | 'tier' | 'access_count' | 'created_at' | 'last_accessed_at' | 'expires_at' | 'life_at'
>;

/** The last change of a memory in place, as the log records it. */
export interface LastEdit {
  /** The memory before the edit; null when the log no longer holds it. */
  readonly before: MemoryImage | null;
  /** The memory after the edit. */
  readonly after: MemoryImage | null;
}

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

interface TitleKey {
  readonly title: string;
  readonly namespace: string;
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

type Nothing = Readonly<Record<never, never>>;

/** Everything that a decision may read: each request with its answer. Every engine answers this map. */
export interface Reads {
  /** A memory by its exact id, expired or not. */
  'memory-by-id': Ask<{ readonly id: string }, MemoryRow | null>;
  /** The expiry, tier and counters of a memory by its exact id, expired or not. */
  'memory-life': Ask<{ readonly id: string }, MemoryLife | null>;
  /** The current memory of a (title, namespace), expired or not. */
  'memory-by-title': Ask<TitleKey, MemoryRow | null>;
  /** When the memory that holds a title expires (null inside: never); null when the title is free. */
  'title-expiry': Ask<TitleKey, { readonly expires_at: Instant | null } | null>;
  'expired-memories': Ask<{ readonly before: string; readonly limit: number }, readonly MemoryRow[]>;
  /** What a holder has used of its quota; null before its first write. */
  'quota-use': Ask<{ readonly holder: string; readonly namespace: string }, QuotaUse | null>;
  /** The bytes that a holder has written into the log today, over all namespaces. */
  'written-bytes': Ask<{ readonly holder: string }, number>;
  /** The memory that a signed envelope was used for; null when it is unused. */
  'used-envelope': Ask<{ readonly fingerprint: string }, string | null>;
  /** The key that is bound to an agent, standard base64; null when it is not registered or has no key. */
  'agent-key': Ask<{ readonly agentId: AgentId }, string | null>;
  /** When the oldest recall in the ledger was observed. */
  'oldest-observation': Ask<Nothing, string | null>;
  /** The next rows whose texts wait to be indexed again, by their numbers, the newest first; null when none waits. */
  /** What a recall answered that led to no memory yet, and that the agent made; null when there is none. */
  'unused-recall': Ask<Pick<RecallConsumption, 'recallId' | 'agentId'>, readonly RecalledMemory[] | null>;
  'waiting-texts': Ask<
    { readonly rows: number; readonly characters: number },
    { readonly from: number; readonly to: number } | null
  >;
  'database-owner': Ask<Nothing, DatabaseOwner | null>;
  encoders: Ask<Nothing, Encoders>;
  /** True while a memory waits for the coming encoder. */
  'coming-incomplete': Ask<Nothing, boolean>;
  /** Row numbers of memories, in their order. */
  'rids-after': Ask<
    { readonly afterRid: number; readonly namespace: string | null; readonly limit: number },
    { readonly rids: readonly number[] }
  >;
  'archived-memory': Ask<{ readonly id: string }, ArchivedRow | null>;
  /** Archived rows up to an instant, the oldest first. */
  'purgeable-memories': Ask<
    { readonly before: string; readonly ownerId: string | null; readonly limit: number },
    readonly PurgeableRow[]
  >;
  /** Live rows that match a forget and that its viewer may remove, lowest row number first. */
  'forgettable-memories': Ask<
    { readonly filter: ForgetFilter; readonly limit: number },
    readonly MemoryRow[]
  >;
  /** The last edit of a memory since it was stored; null when it was never edited. */
  'last-edit': Ask<{ readonly id: string }, LastEdit | null>;

  /** The row of a subject; null when it has no row. */
  'subject-row': Ask<Subject, Row | null>;
  /** The version vector of a removed subject and the time of its removal; null when it was never removed. */
  tombstone: Ask<Subject, { readonly seen: VersionVector; readonly deleted_at: Instant } | null>;
  /** The maximal versions of a subject; empty for a subject that was never written. */
  'subject-versions': Ask<Subject, readonly Version[]>;
  /** The contested operations of a subject that the log has. */
  'subject-history': Ask<Subject, readonly HistoricEdit[]>;
  /** All namespaces that operations of a subject name, with or without effect. */
  'subject-namespaces': Ask<Subject, readonly string[]>;
  /**
   * The namespaces in which operations of a subject placed it: operations with an effect, and moves out of this node's
   * scope.
   */
  'subject-places': Ask<Subject, readonly SubjectPlace[]>;
  /** All operations of a subject in the log; a payload that does not match its hash is null. */
  'subject-log': Ask<Subject, readonly LoggedOperation[]>;
  /** What the tables hold about a subject, which may be damaged. */
  'stored-subject': Ask<Subject, StoredSubject>;
  /** Subjects of an origin's operations after a sequence. */
  'subjects-beyond': Ask<OriginSeq, readonly Subject[]>;
  /** True when the digest of a namespace is the sum of the digests of its rows of a kind. */
  'digest-holds': Ask<{ readonly kind: string; readonly namespace: string }, boolean>;
  /** Records of a kind whose member has a value, by id. */
  'records-with': Ask<
    { readonly kind: string; readonly member: string; readonly value: string; readonly limit: number },
    readonly Row[]
  >;

  /** The SHA-256 of a text, hex: rules have no cryptography of their own. */
  'text-digest': Ask<{ readonly text: string }, string>;
  /** Whether any namespace has a standard. */
  'has-policies': Ask<Nothing, boolean>;
  /** The standards of namespaces; those that have none are left out. */
  'standards-of': Ask<{ readonly namespaces: readonly string[] }, readonly Standard[]>;
  /** Whether there are memories that are not an agent's in a namespace or below it, those that it does not see included. */
  'holds-others': Ask<{ readonly namespace: string; readonly agentId: AgentId | null }, boolean>;
  /** How many actions of an agent wait for approval, up to a limit. */
  'open-pendings': Ask<{ readonly requestedBy: AgentId | null; readonly limit: number }, number>;
  /** The rules about actions of a kind, or of all kinds; one more than `RULES_MAX` at most. */
  rules: Ask<{ readonly ruleKind: string | null; readonly skipDamaged: boolean }, readonly Rule[]>;
  /** Refusals by policies that the audit chain records since an instant. */
  'refusals-noted': Ask<
    { readonly agentId: AgentId; readonly since: Instant },
    { readonly ofAgent: number; readonly ofNode: number }
  >;

  /** True when anybody subscribes to events. */
  'is-subscribed': Ask<Nothing, boolean>;
  /** How many subscriptions an agent and all have, and the place of the last recorded event. */
  'subscription-counts': Ask<
    { readonly by: AgentId },
    { readonly own: number; readonly all: number; readonly lastSeq: number }
  >;
  /** Counts the changes of the list of subscriptions. */
  'subscription-revision': Ask<Nothing, number>;
  subscription: Ask<{ readonly id: string }, Subscription | null>;
  'outbox-event': Ask<{ readonly subscriptionId: string; readonly seq: number }, OutboxEvent | null>;
  /** Failed events of a subscription that were sent again less often than a number, the oldest first. */
  'failed-events': Ask<
    {
      readonly subscriptionId: string;
      readonly since: Instant;
      readonly limit: number;
      readonly replaysBelow: number;
    },
    readonly OutboxEvent[]
  >;
  /**
   * Ended events that are older than an instant, or more than a subscription's history keeps, and events older than that
   * which wait behind a quarantine.
   */
  'prunable-events': Ask<
    { readonly before: Instant; readonly limit: number },
    readonly Pick<OutboxEvent, 'subscription_id' | 'seq'>[]
  >;
  /** Recorded events that are too old, or too many, and what is lost with them. */
  'prunable-announced': Ask<{ readonly before: Instant; readonly limit: number }, LostEvents>;
  'count-dead-letters': Ask<{ readonly correlationIds: readonly string[] }, number>;

  /** Whether links of the same relation that were not invalidated lead from the target of a link to its source. */
  'leads-back': Ask<{ readonly link: LinkKey; readonly rowsMax: number }, 'yes' | 'no' | 'unknown'>;

  /** The memories from which links of a relation that were not invalidated lead to a memory, by id. */
  'sources-of': Ask<
    { readonly targetId: MemoryId; readonly relation: Relation; readonly limit: number },
    readonly MemoryId[]
  >;

  /** The origin that this database writes under, and its last sequence. */
  'log-origin': Ask<Nothing, OriginSeq>;
  /** What of the own log is stamped ahead of the clock. */
  'log-ahead': Ask<Nothing, LogAhead>;
  /** The end of a foreign origin's chain; null before its first operation. */
  'origin-head': Ask<{ readonly origin: Origin }, { readonly seq: number; readonly head: string } | null>;
  /** How many foreign origins of a peer the log has. */
  'origins-of': Ask<{ readonly peerId: PeerId }, number>;
  /** The scope that another peer had when its last operation came; null when nothing was noted of it. */
  'author-scope': Ask<{ readonly peerId: PeerId }, { readonly scope: Scope } | null>;
  /** The header hash of an operation in the log; null when the log does not hold it. */
  'operation-hash': Ask<OriginSeq, string | null>;
  /** Why an operation in the log has no effect; null when it has one. */
  'parked-reason': Ask<OriginSeq, ParkReason | null>;
  /** True when a peer's nonce is remembered. */
  'nonce-used': Ask<Pick<UsedNonce, 'peerId' | 'fingerprint'>, boolean>;
  /** Operations in the log without effect that may get one now, each with its commit sequence. */
  'parked-operations': Ask<ParkedPage, readonly (readonly [number, WireOperation])[]>;
  /** Notices about an origin that used sequence numbers twice. */
  'epoch-notices': Ask<{ readonly origin: Origin }, readonly EpochNotice[]>;
  /**
   * True when each operation of an origin after a sequence is also here as an operation of another origin, in the same
   * order.
   */
  'renamed-whole': Ask<{ readonly from: string; readonly keep: number; readonly to: string }, boolean>;
  /** The hash of the header that the log holds at a position, right or wrong; null when it holds no header there. */
  'logged-hash': Ask<OriginSeq, string | null>;
  /** True when the log has an operation at a position. */
  'is-logged': Ask<OriginSeq, boolean>;
  /** Applies the mutations decided so far, so that later reads see them. */
  after: Ask<{ readonly mutations: readonly Mutation[] }, void>;
}

export type ReadName = keyof Reads;

/** A row that a decision needs. */
export type ReadRequest = {
  [K in ReadName]: { readonly read: K } & Reads[K]['request'];
}[ReadName];

/** A generator that reads rows and continues with the answers. */
export type Reading<T> = Generator<ReadRequest, T, never>;

/** Reads one entry of the map above. Only this function trusts the engine to answer its own map. */
export function* read<K extends ReadName>(
  name: K,
  request: Reads[K]['request'],
): Reading<Reads[K]['answer']> {
  return (yield { read: name, ...request } as unknown as ReadRequest) as Reads[K]['answer'];
}

/** Applies mutations now; later reads see them. */
export const after = (mutations: readonly Mutation[]): Reading<void> => read('after', { mutations });
export const memoryById = (id: string): Reading<MemoryRow | null> => read('memory-by-id', { id });
export const memoryByTitle = (title: string, namespace: string): Reading<MemoryRow | null> =>
  read('memory-by-title', { title, namespace });
