import { setup } from 'xstate';
import { childRunner, type RunnerEvent, type SupervisorSeams } from './child-runner.js';
import {
  beginStop,
  childFailed,
  childGone,
  childStarted,
  type FailureReport,
  isEnded,
  isStarted,
  retryChild,
  type Step,
  type Supervision,
  startNext,
} from './supervision.js';

/** The input of a supervisor. */
export interface SupervisorInput {
  /** From `notStarted`, made by the caller because xstate turns a throw in here into an uncaught exception. */
  readonly supervision: Supervision;
  readonly seams: SupervisorSeams;
  readonly onFailure: (report: FailureReport) => void;
}

interface Context {
  readonly input: SupervisorInput;
  readonly supervision: Supervision;
}

type Event =
  | RunnerEvent
  | { readonly type: 'child.retry'; readonly id: string }
  | { readonly type: 'supervisor.stop' };

const base = setup({
  types: {} as { context: Context; events: Event; input: SupervisorInput; output: Supervision },
  actors: { childRunner },
});

const runnerId = (childId: string): string => `run:${childId}`;
const retryId = (childId: string): string => `retry:${childId}`;

/** An action that takes one pure step of `supervision.ts` and executes its effects. */
const take = (decide: (state: Supervision, event: Event) => Step) =>
  base.enqueueActions(({ context, event, enqueue }) => {
    const { input } = context;
    const { state, effects } = decide(context.supervision, event);
    enqueue.assign({ supervision: state });
    for (const effect of effects) {
      switch (effect.kind) {
        case 'launch':
          enqueue.spawnChild('childRunner', {
            id: runnerId(effect.spec.id),
            input: { spec: effect.spec, seams: input.seams },
          });
          break;
        case 'drop-runner':
          enqueue.stopChild(runnerId(effect.id));
          break;
        case 'stop-runner':
          enqueue.sendTo(runnerId(effect.id), { type: 'runner.stop' });
          break;
        case 'retry-later':
          enqueue.raise(
            { type: 'child.retry', id: effect.id },
            { id: retryId(effect.id), delay: effect.delayMs },
          );
          break;
        case 'forget-retry':
          enqueue.cancel(retryId(effect.id));
          break;
        case 'report':
          enqueue(() => input.onFailure(effect.report));
          break;
      }
    }
  });

/** Leaves the state unchanged when another event arrived first. */
const stay = (state: Supervision): Step => ({ state, effects: [] });

/**
 * The life cycle of a supervisor. Escalation is a final state, because an error thrown here would leave the other
 * children running.
 */
export const supervisorMachine = base.createMachine({
  context: ({ input }) => ({ input, supervision: input.supervision }),
  initial: 'active',
  states: {
    active: {
      entry: take(startNext),
      on: {
        'child.started': {
          actions: take((state, event) =>
            event.type === 'child.started' ? childStarted(state, event.id) : stay(state),
          ),
        },
        'child.failed': {
          actions: take((state, event) =>
            event.type === 'child.failed' ? childFailed(state, event) : stay(state),
          ),
        },
        'child.retry': {
          actions: take((state, event) =>
            event.type === 'child.retry' ? retryChild(state, event.id) : stay(state),
          ),
        },
        'supervisor.stop': 'stopping',
      },
      always: { guard: ({ context }) => context.supervision.escalation !== null, target: 'stopping' },
      initial: 'starting',
      states: {
        starting: { always: { guard: ({ context }) => isStarted(context.supervision), target: 'running' } },
        running: {},
      },
    },
    stopping: {
      entry: take(beginStop),
      on: {
        'child.failed': {
          actions: take((state, event) =>
            event.type === 'child.failed' ? childGone(state, event) : stay(state),
          ),
        },
        'child.stopped': {
          actions: take((state, event) =>
            event.type === 'child.stopped' ? childGone(state, event) : stay(state),
          ),
        },
      },
      always: [
        {
          guard: ({ context }) => isEnded(context.supervision) && context.supervision.escalation !== null,
          target: 'escalated',
        },
        { guard: ({ context }) => isEnded(context.supervision), target: 'stopped' },
      ],
    },
    stopped: { type: 'final' },
    escalated: { type: 'final' },
  },
  output: ({ context }) => context.supervision,
});
