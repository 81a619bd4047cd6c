import type { Clock, Scheduler, Timer } from '../../protocol/base/seams.js';
import { asError, type ChildSpec, type ExitReason, type RunningChild } from './child.js';
import type { RestartPolicy } from './restart-policy.js';

/** The outcome of one round of a loop. */
export interface NextRound {
  /** Milliseconds until the next round; `wake` may come earlier. */
  readonly afterMs: number;
}

/** A background duty that runs in rounds. */
export interface LoopOptions {
  readonly id: string;
  readonly policy: RestartPolicy;
  readonly scheduler: Scheduler;
  readonly clock: Clock;
  /** One round; a throw ends this incarnation, and the supervisor decides what happens next. */
  readonly round: () => Promise<NextRound>;
  /** The wait before the first round; default 0. */
  readonly firstAfterMs?: number;
  /** Runs when the loop has stopped in good order. */
  readonly onStop?: () => Promise<void>;
}

/** The handle with which other code makes a loop run its next round now. */
export interface Wake {
  now(): void;
}

/**
 * A loop as a supervised child: rounds never overlap, a stop waits for the round under way, and a failed round is a
 * failed child with its restart budget.
 */
export function loopChild(options: LoopOptions): { spec: ChildSpec; wake: Wake } {
  let running: Loop | null = null;
  return {
    wake: { now: () => running?.wake() },
    spec: {
      id: options.id,
      policy: options.policy,
      start: () => {
        running = new Loop(options);
        return Promise.resolve(running);
      },
    },
  };
}

class Loop implements RunningChild {
  readonly stopped: Promise<ExitReason>;
  private end!: (reason: ExitReason) => void;
  private timer: Timer | null = null;
  private busy = false;
  private woken = false;
  private stopping = false;

  constructor(private readonly options: LoopOptions) {
    this.stopped = new Promise((resolve) => {
      this.end = resolve;
    });
    this.schedule(options.firstAfterMs ?? 0);
  }

  wake(): void {
    if (this.busy) {
      this.woken = true;
      return;
    }
    if (this.stopping || this.timer === null) return;
    this.timer.cancel();
    this.run();
  }

  async stop(): Promise<void> {
    this.stopping = true;
    if (!this.busy) {
      this.timer?.cancel();
      await this.finish();
    }
    const reason = await this.stopped;
    if (reason.kind === 'failed') throw reason.error;
  }

  private schedule(afterMs: number): void {
    this.timer = this.options.scheduler.after(afterMs, () => this.run());
  }

  private run(): void {
    this.timer = null;
    this.busy = true;
    this.options.round().then(
      (next) => {
        this.busy = false;
        if (this.stopping) {
          void this.finish();
          return;
        }
        const afterMs = this.woken ? 0 : next.afterMs;
        this.woken = false;
        this.schedule(afterMs);
      },
      (error) => {
        this.busy = false;
        this.end({ kind: 'failed', error: asError(error) });
      },
    );
  }

  private async finish(): Promise<void> {
    try {
      await this.options.onStop?.();
      this.end({ kind: 'stopped' });
    } catch (error) {
      this.end({ kind: 'failed', error: asError(error) });
    }
  }
}
