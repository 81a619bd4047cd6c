import type { Instant, PeerId } from '../base/meanings.js';
import type { Result } from '../base/result.js';
import type { Kinds } from '../kinds/kinds.js';
import type { Mutation } from './mutations.js';
import type { NodePolicy } from './node-policy.js';
import type { RuleTrust } from './permissions.js';
import type { ReadRequest } from './reads.js';
import type { Requester } from './requester.js';
import type { SeenRow } from './rows.js';

/**
 * How a write decides. A decision is a generator. It yields the rows that it must read; the engine loads them inside
 * the write transaction and answers. It returns the typed mutations to apply, or a failure. It is pure, so every
 * engine, the simulator and replicated operations share one copy of the rules. A read may depend on the answer to the
 * one before, so the engine loads only rows that the decision needs.
 */
export type Deciding<T> = Generator<ReadRequest, Result<Decision<T>>, never>;

/** The value of a rule that returns nothing. */
export type Done = Readonly<Record<never, never>>;

export interface Decision<T> {
  readonly mutations: readonly Mutation[];
  readonly value: T;
  /** The holder whose written bytes the writes count for; absent when they count for nobody. */
  readonly chargedTo?: string;
  /**
   * A command that was put aside and is decided now, in the same transaction; when it fails, nothing changes. Its answer
   * stands in the value as `executed`.
   */
  readonly executes?: Approved;
  /** A command whose changes are looked at and not made; what it would do stands in the value as `action`. */
  readonly looksAt?: PutAside;
}

/** A command as a pending action holds it. */
export interface PutAside {
  readonly kind: string;
}

/** An approved action, as its record says it. */
export interface Approved {
  /** The command as it stands in the record, which another node may have written. */
  readonly command: Readonly<Record<string, unknown>>;
  readonly pendingId: string;
  /** The node that wrote it. */
  readonly writtenBy: PeerId;
  readonly requester: Requester;
  readonly approver: Readonly<Record<string, unknown>>;
  readonly reads: readonly SeenRow[];
}

/** Facts of the call that the rules may use. */
export interface DecisionContext {
  /** Wall clock of the call. */
  readonly nowMs: number;
  /** The same as a canonical instant. */
  readonly now: Instant;
  /** True when the database takes what the operator allows it, so nothing may make it larger. */
  readonly full?: boolean;
  /** What the settings of this node say to rules. */
  readonly policy: NodePolicy;
  /** The kinds that replicate. */
  readonly kinds: Kinds;
  /** True where a policy, or an approval, lets the caller change the rows of others. */
  readonly permitted?: boolean;
  /** Which rules about actions count. */
  readonly ruleTrust: RuleTrust;
}

export function decided<T>(value: T, mutations: readonly Mutation[]): Result<Decision<T>> {
  return { ok: true, value: { mutations, value } };
}
