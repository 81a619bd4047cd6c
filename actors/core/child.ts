import type { RestartPolicy } from './restart-policy.js';

/** Why a child ended. Ending as `stopped` without a request counts as a failure too. */
export type ExitReason = { readonly kind: 'stopped' } | { readonly kind: 'failed'; readonly error: Error };

/** Something that runs until it is stopped or fails: an actor, a thread, or a whole supervisor. */
export interface RunningChild {
  /** Resolves once, when it has ended for any reason; never rejects. */
  readonly stopped: Promise<ExitReason>;
  /**
   * Ends it in good order and resolves when it has ended. A rejection means that the stop failed; it is not tried
   * again.
   */
  stop(): Promise<void>;
}

/** The declaration of a child. */
export interface ChildSpec {
  /** Unique among its siblings. */
  readonly id: string;
  readonly policy: RestartPolicy;
  /**
   * Starts a new incarnation; a rejection counts as a failure. `stopping` aborts when the supervisor stops before this
   * has settled: reject soon, or resolve and be stopped. A start has no time limit, because a second incarnation next
   * to a slow first one could be two writers.
   */
  start(stopping: AbortSignal): Promise<RunningChild>;
  /** How long the supervisor waits for `stop` before it records an error and continues; absent: for ever. */
  readonly stopTimeoutMs?: number;
}

/** `degraded` lasts from the decision until a restart succeeds; `stopped` is also the state before the start. */
export type ChildState = 'starting' | 'running' | 'backing-off' | 'degraded' | 'stopped';

/** The public state of a child. */
export interface ChildStatus {
  readonly id: string;
  readonly state: ChildState;
  /** Restarts since the supervisor began. */
  readonly restarts: number;
  readonly lastError: string | null;
}

/** A child and its supervisor have used up their restarts. */
export class EscalationError extends Error {
  override readonly name = 'EscalationError';
  /** Child ids from the supervisor that escalated down to the child that failed first. */
  readonly path: readonly string[];
  /** The error of the innermost child. */
  readonly rootCause: Error;

  constructor(
    readonly childId: string,
    override readonly cause: Error,
  ) {
    const path = [childId, ...(cause instanceof EscalationError ? cause.path : [])];
    const rootCause = cause instanceof EscalationError ? cause.rootCause : cause;
    super(`${path.join(' > ')}: ${rootCause.message}`);
    this.path = path;
    this.rootCause = rootCause;
  }
}

/** The thrown value as an Error. */
export const asError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(String(thrown), { cause: thrown });
