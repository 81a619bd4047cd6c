import { createActor } from 'xstate';
import { fail, ok, type Result } from '../../protocol/base/result.js';
import type { ChildSpec, ChildStatus, ExitReason, RunningChild } from './child.js';
import type { SupervisorSeams } from './child-runner.js';
import type { RestartPolicy } from './restart-policy.js';
import { type ChildRecord, type FailureReport, notStarted } from './supervision.js';
import { supervisorMachine } from './supervisor-machine.js';
import { xstateClock } from './xstate-clock.js';

/** The declaration of a supervisor. */
export interface SupervisorOptions extends SupervisorSeams {
  /** Started left to right, stopped right to left; each starts when all before it run or are degraded. */
  readonly children: readonly ChildSpec[];
  /** Called for each unexpected failure with the decision on it, for the log. Must not throw. */
  readonly onFailure?: (report: FailureReport) => void;
}

/** A running one-for-one supervisor, which is a child itself. */
export interface Supervisor extends RunningChild {
  /** Resolves when every child runs or is degraded; UNAVAILABLE when the supervisor ended before that. */
  readonly started: Promise<Result<void>>;
  /** `failed` with an `EscalationError` when a child used up its restarts and its policy escalates. */
  readonly stopped: Promise<ExitReason>;
  /**
   * Stops the children right to left. Rejects with an AggregateError that names every child whose stop failed, after
   * trying all. After an escalation it reports how the stop of the others went. A second call returns the same promise.
   */
  stop(): Promise<void>;
  /** The children now, in the order of their declaration. */
  children(): readonly ChildStatus[];
  /** Calls `listener` after each change until the returned function is called. */
  subscribe(listener: (children: readonly ChildStatus[]) => void): () => void;
}

/** Starts a supervisor and its children. Throws when two children share an id. */
export const startSupervisor = (options: SupervisorOptions): Supervisor => {
  const { clock, scheduler, random } = options;
  const input = {
    supervision: notStarted(options.children),
    seams: { clock, scheduler, random },
    onFailure: options.onFailure ?? (() => {}),
  };
  const actor = createActor(supervisorMachine, { input, clock: xstateClock(scheduler) });

  let records: readonly ChildRecord[] = [];
  let statuses: readonly ChildStatus[] = [];
  const listeners = new Set<(children: readonly ChildStatus[]) => void>();
  let begun!: (result: Result<void>) => void;
  let ended!: () => void;
  const started = new Promise<Result<void>>((resolve) => {
    begun = resolve;
  });
  const done = new Promise<void>((resolve) => {
    ended = resolve;
  });

  const observe = (snapshot: ReturnType<typeof actor.getSnapshot>): void => {
    const { supervision } = snapshot.context;
    if (supervision.children !== records) {
      records = supervision.children;
      statuses = records.map(statusOf);
      for (const listener of [...listeners]) listener(statuses);
    }
    if (snapshot.matches({ active: 'running' })) begun(ok(undefined));
    if (snapshot.status !== 'done') return;
    const why = supervision.escalation?.message ?? 'the supervisor was stopped while it started';
    begun(fail('UNAVAILABLE', why));
    ended();
  };
  const outcome = () => actor.getSnapshot().context.supervision;

  actor.subscribe(observe);
  actor.start();
  observe(actor.getSnapshot());

  let stop: Promise<void> | undefined;
  return {
    started,
    stopped: done.then((): ExitReason => {
      const { escalation } = outcome();
      return escalation === null ? { kind: 'stopped' } : { kind: 'failed', error: escalation };
    }),
    stop: () => {
      if (actor.getSnapshot().status === 'active') actor.send({ type: 'supervisor.stop' });
      stop ??= done.then(() => {
        const { stopErrors } = outcome();
        if (stopErrors.length > 0) throw new AggregateError(stopErrors, messageOf(stopErrors));
      });
      return stop;
    },
    children: () => statuses,
    subscribe: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
};

/** Declares a whole supervisor as a child of another: it has started when all its own children have. */
export const supervisorChild = (
  id: string,
  policy: RestartPolicy,
  options: SupervisorOptions,
  onStart?: (supervisor: Supervisor) => void,
): ChildSpec => ({
  id,
  policy,
  start: async (stopping) => {
    const supervisor = startSupervisor(options);
    onStart?.(supervisor);
    // The parent can only stop it after the start has settled; a failed stop is reported below.
    const giveUp = (): void => void supervisor.stop().catch(() => {});
    stopping.addEventListener('abort', giveUp, { once: true });
    const started = await supervisor.started;
    stopping.removeEventListener('abort', giveUp);
    if (started.ok || stopping.aborted) return supervisor;
    const reason = await supervisor.stopped;
    throw reason.kind === 'failed' ? reason.error : new Error(started.error.message);
  },
});

const statusOf = (record: ChildRecord): ChildStatus => ({
  id: record.spec.id,
  state: record.state,
  restarts: record.restarts,
  lastError: record.lastError?.message ?? null,
});

const messageOf = (errors: readonly Error[]): string =>
  `${errors.length} of the children did not stop in good order: ${errors.map((error) => error.message).join('; ')}`;
