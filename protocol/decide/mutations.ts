import type { VersionVector } from '../base/version-vector.js';
import type { Dot, Facts, Settled } from '../kinds/version.js';
import type { AuditEvent } from '../log/audit.js';
import type { Row } from './rows.js';

/** The name of a local mutation: it has a hyphen, and those that write rows of the log have none. */
export type LocalName = `${string}-${string}`;

/**
 * A change that stays on this node, or repairs rows from the log. Its feature declares it; its other members say what
 * changes.
 */
export interface LocalMutation {
  readonly mutation: LocalName;
}

/**
 * A change to apply. `write` and `remove` are replicated: the engine appends their operation, stamps the row with it
 * and applies the change in one transaction, so every replicated change is in the log.
 */
export type Mutation = Write | Remove | Settle | Rebuild | LocalMutation;

/** A local mutation that rules may make. Every engine applies it. */
export interface DeclaredMutation<Members> {
  (members: Members): LocalMutation & Members;
  readonly mutation: LocalName;
}

export function defineMutation<Members>(mutation: LocalName): DeclaredMutation<Members> {
  const making = (members: Members) => ({ mutation, ...members }) as LocalMutation & Members;
  return Object.assign(making, { mutation });
}

export const isDeclaredMutation = (value: unknown): value is DeclaredMutation<never> =>
  typeof value === 'function' && 'mutation' in value;

/** What a declared mutation says. */
export type Changing<M> = M extends DeclaredMutation<infer Members> ? Members : never;

/** True for a mutation of a declaration. */
export const isMutation = <Members>(
  given: Mutation,
  { mutation }: DeclaredMutation<Members>,
): given is LocalMutation & Members => given.mutation === mutation;

export const appendAudit = defineMutation<{ readonly event: AuditEvent }>('append-audit');

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
  /** The row before the removal; its last copy, or null, where what is erased has no row. */
  readonly before: I | null;
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
