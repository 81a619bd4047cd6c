import { type ChildSpec, type ChildState, EscalationError } from './child.js';
import type { RunnerEvent } from './child-runner.js';
import { decideRestart, type FailureHistory, NO_FAILURES, type RestartDecision } from './restart-policy.js';

/** A supervisor's record of a child. */
export interface ChildRecord {
  readonly spec: ChildSpec;
  readonly state: ChildState;
  /** A runner exists, from the start until its last event; a degraded child has one while it is retried. */
  readonly live: boolean;
  readonly restarts: number;
  readonly lastError: Error | null;
  readonly history: FailureHistory;
}

/** The whole state of a supervisor. */
export interface Supervision {
  readonly children: readonly ChildRecord[];
  readonly escalation: EscalationError | null;
  /** One for each child whose stop failed, in the order of stopping. */
  readonly stopErrors: readonly Error[];
}

/** A failure outside a stop, and the decision on it. */
export interface FailureReport {
  readonly childId: string;
  readonly error: Error;
  readonly decision: RestartDecision;
}

/** What the machine has to do after a step. */
export type Effect =
  | { readonly kind: 'launch'; readonly spec: ChildSpec }
  | { readonly kind: 'drop-runner'; readonly id: string }
  | { readonly kind: 'stop-runner'; readonly id: string }
  | { readonly kind: 'retry-later'; readonly id: string; readonly delayMs: number }
  | { readonly kind: 'forget-retry'; readonly id: string }
  | { readonly kind: 'report'; readonly report: FailureReport };

export interface Step {
  readonly state: Supervision;
  readonly effects: readonly Effect[];
}

type Failed = Extract<RunnerEvent, { type: 'child.failed' }>;
type Gone = Extract<RunnerEvent, { type: 'child.failed' | 'child.stopped' }>;

/** A supervisor before its first step. Child ids must be unique. */
export const notStarted = (specs: readonly ChildSpec[]): Supervision => {
  if (new Set(specs.map((spec) => spec.id)).size !== specs.length)
    throw new Error('two children of one supervisor share an id: give each its own');
  const children = specs.map((spec): ChildRecord => {
    return { spec, state: 'stopped', live: false, restarts: 0, lastError: null, history: NO_FAILURES };
  });
  return { children, escalation: null, stopErrors: [] };
};

/** True when every child runs or has been declared degraded: the start is complete. */
export const isStarted = (state: Supervision): boolean =>
  state.children.every((child) => child.state === 'running' || child.state === 'degraded');

export const isEnded = (state: Supervision): boolean => !state.children.some((child) => child.live);

/** Starts the leftmost child that has not begun, once all children to its left run or are degraded. */
export const startNext = (state: Supervision): Step => {
  const waiting = state.children.find((child) => child.state !== 'running' && child.state !== 'degraded');
  if (waiting?.state !== 'stopped') return { state, effects: [] };
  return launch(state, waiting, {});
};

export const childStarted = (state: Supervision, id: string): Step =>
  startNext(update(state, id, { state: 'running' }));

/** Applies the restart policy to a failure outside a stop. */
export const childFailed = (state: Supervision, { id, error, failure }: Failed): Step => {
  const child = find(state, id);
  const { decision, history } = decideRestart(child.spec.policy, child.history, failure);
  const change = { live: false, lastError: error, history };
  const effects: Effect[] = [
    { kind: 'drop-runner', id },
    { kind: 'report', report: { childId: id, error, decision } },
  ];
  switch (decision.kind) {
    case 'escalate': {
      const next = update(state, id, { ...change, state: 'stopped' });
      return { state: { ...next, escalation: new EscalationError(id, error) }, effects };
    }
    case 'restart-now': {
      const restarted = launch(state, child, { ...change, restarts: child.restarts + 1 });
      return { state: restarted.state, effects: [...effects, ...restarted.effects] };
    }
    case 'back-off':
    case 'degrade': {
      effects.push({ kind: 'retry-later', id, delayMs: decision.delayMs });
      const after = decision.kind === 'degrade' ? 'degraded' : 'backing-off';
      const started = startNext(update(state, id, { ...change, state: after }));
      return { state: started.state, effects: [...effects, ...started.effects] };
    }
  }
};

/** The wait before a restart is over. */
export const retryChild = (state: Supervision, id: string): Step => {
  const child = find(state, id);
  return launch(state, child, { restarts: child.restarts + 1 });
};

/** Begins the stop: no child is restarted any more, and the rightmost live child is asked to stop. */
export const beginStop = (state: Supervision): Step => {
  const idle = state.children.filter((child) => !child.live);
  const children = state.children.map(
    (child): ChildRecord => (child.live ? child : { ...child, state: 'stopped' }),
  );
  const stopping = stopNext({ ...state, children });
  const forgotten = idle.map((child): Effect => ({ kind: 'forget-retry', id: child.spec.id }));
  return { state: stopping.state, effects: [...forgotten, ...stopping.effects] };
};

/** A child ended during the stop, by request or by itself; continues with the next to its left. */
export const childGone = (state: Supervision, event: Gone): Step => {
  const { id, error } = event;
  const change = error === null ? {} : { lastError: error };
  const gone = update(state, id, { ...change, state: 'stopped', live: false });
  const { stopErrors } = state;
  const noted = error === null ? stopErrors : [...stopErrors, ...stopErrorsOf(id, error)];
  const next = stopNext({ ...gone, stopErrors: noted });
  return { state: next.state, effects: [{ kind: 'drop-runner', id }, ...next.effects] };
};

/** Asking the same child twice is harmless, so the rightmost is asked again when another one ended meanwhile. */
const stopNext = (state: Supervision): Step => {
  const last = state.children.findLast((child) => child.live);
  return { state, effects: last === undefined ? [] : [{ kind: 'stop-runner', id: last.spec.id }] };
};

/** A nested supervisor reports several errors at once; each keeps its path. */
const stopErrorsOf = (id: string, error: Error): readonly Error[] => {
  const errors: readonly unknown[] = error instanceof AggregateError ? error.errors : [error];
  return errors.map((each) => {
    const { message } = each instanceof Error ? each : { message: String(each) };
    const separator = error instanceof AggregateError ? ' > ' : ': ';
    return new Error(`${id}${separator}${message}`, { cause: each });
  });
};

const launch = (state: Supervision, child: ChildRecord, change: Partial<ChildRecord>): Step => ({
  state: update(state, child.spec.id, {
    ...change,
    live: true,
    // A degraded capability is shown as degraded until it works again.
    state: child.state === 'degraded' ? 'degraded' : 'starting',
  }),
  effects: [{ kind: 'launch', spec: child.spec }],
});

const update = (state: Supervision, id: string, change: Partial<ChildRecord>): Supervision => ({
  ...state,
  children: state.children.map((child) => (child.spec.id === id ? { ...child, ...change } : child)),
});

const find = (state: Supervision, id: string): ChildRecord => {
  const child = state.children.find((each) => each.spec.id === id);
  // Only runners and timers of these records send ids.
  if (child === undefined) throw new Error(`no child ${id}`);
  return child;
};
