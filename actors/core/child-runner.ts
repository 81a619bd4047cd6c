import { type EventObject, fromCallback } from 'xstate';
import type { Clock, Random, Scheduler, Timer } from '../../protocol/base/seams.js';
import { asError, type ChildSpec, type RunningChild } from './child.js';
import type { ChildFailure } from './restart-policy.js';

/** The seams of a supervisor. */
export interface SupervisorSeams {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly scheduler: Pick<Scheduler, 'after'>;
  readonly random: Pick<Random, 'unit'>;
}

/** What a runner reports to its supervisor; `child.failed` and `child.stopped` are its last events. */
export type RunnerEvent =
  | { readonly type: 'child.started'; readonly id: string }
  | {
      readonly type: 'child.failed';
      readonly id: string;
      readonly error: Error;
      readonly failure: ChildFailure;
    }
  | { readonly type: 'child.stopped'; readonly id: string; readonly error: Error | null };

/** The only command of a supervisor to a runner. */
export interface RunnerCommand extends EventObject {
  readonly type: 'runner.stop';
}

/**
 * Runs one incarnation of one child: starts it, watches it, stops it on `runner.stop`. Clock and randomness are read
 * here, so that the machine's transitions depend only on their events. Rejections are caught here because xstate would
 * leave them unhandled.
 */
export const childRunner = fromCallback<
  RunnerCommand,
  { readonly spec: ChildSpec; readonly seams: SupervisorSeams }
>(({ input: { spec, seams }, sendBack, receive }) => {
  const stopping = new AbortController();
  let running: RunningChild | null = null;
  let startedAtMs: number | null = null;
  let ended = false;

  const tell = (event: RunnerEvent): void => {
    if (ended) return;
    if (event.type !== 'child.started') ended = true;
    sendBack(event);
  };
  const failedWith = (error: Error): void => {
    const atMs = seams.clock.monotonicMs();
    const uptimeMs = startedAtMs === null ? 0 : atMs - startedAtMs;
    tell({
      type: 'child.failed',
      id: spec.id,
      error,
      failure: { atMs, uptimeMs, unit: seams.random.unit() },
    });
  };
  const stoppedWith = (error: Error | null): void => tell({ type: 'child.stopped', id: spec.id, error });
  const stop = (child: RunningChild): void => {
    withTimeout(seams.scheduler, spec, async () => child.stop()).then(
      () => stoppedWith(null),
      (thrown: unknown) => stoppedWith(asError(thrown)),
    );
  };
  const watch = (child: RunningChild): void => {
    running = child;
    startedAtMs = seams.clock.monotonicMs();
    child.stopped.then(
      (reason) => {
        // During a requested stop the outcome of `stop` counts.
        if (stopping.signal.aborted) return;
        failedWith(
          reason.kind === 'failed'
            ? reason.error
            : new Error('ended although its supervisor did not stop it'),
        );
      },
      (thrown: unknown) => {
        if (!stopping.signal.aborted) failedWith(asError(thrown));
      },
    );
    tell({ type: 'child.started', id: spec.id });
  };

  receive(() => {
    if (stopping.signal.aborted || ended) return;
    stopping.abort();
    if (running !== null) stop(running);
  });

  const start = async (): Promise<RunningChild> => spec.start(stopping.signal);
  start().then(
    (child) => (stopping.signal.aborted ? stop(child) : watch(child)),
    // A start that ends because of the abort is not an error.
    (thrown: unknown) => (stopping.signal.aborted ? stoppedWith(null) : failedWith(asError(thrown))),
  );
});

const withTimeout = async (
  scheduler: Pick<Scheduler, 'after'>,
  spec: ChildSpec,
  stop: () => Promise<void>,
): Promise<void> => {
  const { stopTimeoutMs } = spec;
  if (stopTimeoutMs === undefined) return stop();
  let timer: Timer | undefined;
  const timeout = new Promise<never>((_, reject) => {
    const run = () => reject(new Error(`did not stop within ${stopTimeoutMs} ms`));
    timer = scheduler.after(stopTimeoutMs, run, { keepAlive: true });
  });
  try {
    await Promise.race([stop(), timeout]);
  } finally {
    timer?.cancel();
  }
};
