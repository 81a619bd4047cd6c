import type { AuditEvent } from '../audit.js';
import type { Link } from '../link.js';
import type { Memory, MemoryRow } from '../memory.js';
import type { OperationKind } from '../operation-log.js';
import type { QuotaLimits, QuotaUse } from '../quota.js';
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
  | { readonly read: 'memory-by-title'; readonly title: string; readonly namespace: string }
  | { readonly read: 'title-expiry'; readonly title: string; readonly namespace: string }
  | { readonly read: 'expired-memories'; readonly before: string; readonly limit: number }
  | { readonly read: 'quota-use'; readonly holder: string; readonly namespace: string }
  | { readonly read: 'used-envelope'; readonly fingerprint: string }
  | { readonly read: 'database-owner' }
  | { readonly read: 'tombstone'; readonly id: string }
  | { readonly read: 'link-exists'; readonly link: LinkKey };

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
      readonly operation: 'delete' | 'expire';
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
  | { readonly mutation: 'put-database-owner'; readonly owner: DatabaseOwner }
  | {
      readonly mutation: 'insert-link';
      readonly link: Link;
      /** Namespace and row of the source. */
      readonly namespace: string;
      readonly rid: number;
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

/** Reads what a deleted memory had seen; null when the id was never deleted. */
export function* tombstoneOf(
  id: string,
): Generator<ReadRequest, { readonly seen: VersionVector } | null, never> {
  return (yield { read: 'tombstone', id }) as { seen: VersionVector } | null;
}

/** True when the link is stored. */
export function* linkBetween(link: LinkKey): Generator<ReadRequest, boolean, never> {
  return (yield { read: 'link-exists', link }) as boolean;
}
