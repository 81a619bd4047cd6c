import type { Result } from '../protocol/base/result.js';
import type { AnswerOf, Command, OutcomeOf, Query } from '../protocol/release.js';

/** In every queue, interactive work goes before background work. */
export type Lane = 'interactive' | 'background';

export interface CallOptions {
  readonly lane?: Lane;
  /** How long the caller waits; then DEADLINE (outcome unknown) or OVERLOADED (not accepted). */
  readonly timeoutMs?: number;
  /** True for a command that a call gives: hooks hear of what it has done (`tells` of its declaration). */
  readonly ofCall?: true;
}

/** The read half of a store: queries in, answers out, all plain data. */
export interface ReadStore {
  query<Q extends Query>(query: Q, options?: CallOptions): Promise<Result<AnswerOf<Q>>>;
}

/**
 * The store: commands in, queries out, all plain data. An outcome means that the change and its operation are on disk.
 * The store reports its own failures as codes: OVERLOADED (not accepted), DEADLINE and ACTOR_RESTARTED (outcome
 * unknown), STORAGE_FULL, DATABASE_ERROR and DATA_DAMAGED (not applied), SHUTTING_DOWN (not accepted).
 */
export interface Store extends ReadStore {
  execute<C extends Command>(command: C, options?: CallOptions): Promise<Result<OutcomeOf<C>>>;
  /** Makes the engine check its own structures, one page at a time; null starts at the beginning. */
  selfCheck(cursor: string | null, options?: CallOptions): Promise<Result<SelfCheckPage>>;
  close(): Promise<void>;
}

/** A page of an engine's check of its own structures. */
export interface SelfCheckPage {
  /** The problems, as text. */
  readonly problems: readonly string[];
  /** Where the next page begins, opaque; null on the last page. */
  readonly next: string | null;
}

/** A command with the wall clock of its call, as it travels to the writer. */
export interface TimedCommand {
  readonly command: Command;
  readonly nowMs: number;
  /** What the index holds for texts of the command, where that was found before its turn. */
  readonly indexed?: readonly (readonly [text: string, indexed: string])[];
}

/** The writing node: recorded as the origin of every operation. */
export interface WriterIdentity {
  readonly peerId: string;
}
