import type { Command, OutcomeOf } from '../protocol/commands.js';
import type { AnswerOf, Query } from '../protocol/queries.js';
import type { Result } from '../protocol/result.js';

/** Interactive work goes before background work, in every queue. */
export type Lane = 'interactive' | 'background';

export interface CallOptions {
  readonly lane?: Lane;
  /** How long the caller waits; then DEADLINE (outcome unknown) or OVERLOADED (not taken). */
  readonly timeoutMs?: number;
}

/** The half of a store that cannot write: queries in, answers out, all plain data. */
export interface ReadStore {
  query<Q extends Query>(query: Q, options?: CallOptions): Promise<Result<AnswerOf<Q>>>;
}

/**
 * The store: commands in, queries out, all plain data. An outcome means that the change and its operation are on
 * disk. Failures of the store itself are codes: OVERLOADED (not taken), DEADLINE and ACTOR_RESTARTED (outcome
 * unknown), STORAGE_FULL, DATABASE_ERROR and DATA_DAMAGED (not applied), SHUTTING_DOWN (not taken).
 */
export interface Store extends ReadStore {
  execute<C extends Command>(command: C, options?: CallOptions): Promise<Result<OutcomeOf<C>>>;
  /** Has the engine check its own structures, a page at a time; null begins. */
  selfCheck(cursor: string | null, options?: CallOptions): Promise<Result<SelfCheckPage>>;
  close(): Promise<void>;
}

/** A page of an engine's check of itself. */
export interface SelfCheckPage {
  /** What is wrong, as text. */
  readonly problems: readonly string[];
  /** Where the next page begins, opaque; null at the end. */
  readonly next: string | null;
}

/** A command with the wall clock of its call, as it travels to the writer. */
export interface TimedCommand {
  readonly command: Command;
  readonly nowMs: number;
}

/** Who writes: recorded as the origin of every operation. */
export interface WriterIdentity {
  readonly peerId: string;
}
