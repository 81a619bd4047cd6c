import { fail, type Result } from '../../protocol/base/result.js';
import type { Clock, Scheduler, Timer } from '../../protocol/base/seams.js';
import type { AskLimits } from './models.js';

/** Why a question ends before its answer. */
export type EndReason = 'late' | 'gone' | 'closing';

/** Longer waits are no wait of a person. */
const WAIT_MS_MAX = 600_000;

/** Ends a question: at its deadline, when its caller is gone, or when the node stops. */
export class Ending {
  readonly deadlineMs: number;
  readonly #controller = new AbortController();
  readonly #timer: Timer;
  readonly #callerSignal: AbortSignal | undefined;
  readonly #callerGone = () => this.end('gone');
  #reason: EndReason | null = null;

  constructor({ deadlineMs, signal }: AskLimits, clock: Pick<Clock, 'monotonicMs'>, scheduler: Scheduler) {
    const nowMs = clock.monotonicMs();
    this.deadlineMs = Math.min(deadlineMs, nowMs + WAIT_MS_MAX);
    this.#timer = scheduler.after(Math.max(0, this.deadlineMs - nowMs), () => this.end('late'));
    this.#callerSignal = signal;
    if (signal?.aborted === true) this.end('gone');
    else signal?.addEventListener('abort', this.#callerGone, { once: true });
    if (this.deadlineMs <= nowMs) this.end('late');
  }

  /** Null while the question may go on. */
  get reason(): EndReason | null {
    return this.#reason;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  end(reason: EndReason): void {
    this.#reason ??= reason;
    this.#controller.abort();
  }

  /** The question has its answer. */
  settle(): void {
    this.#timer.cancel();
    this.#callerSignal?.removeEventListener('abort', this.#callerGone);
  }

  /** Resolves after a while, or as soon as the question ends. */
  wait(ms: number, scheduler: Scheduler): Promise<void> {
    if (this.#reason !== null) return Promise.resolve();
    return new Promise((resolve) => {
      const stop = () => {
        timer.cancel();
        this.signal.removeEventListener('abort', stop);
        resolve();
      };
      const timer = scheduler.after(ms, stop, { keepAlive: true });
      this.signal.addEventListener('abort', stop, { once: true });
    });
  }
}

/** The failure of a question that ended before its answer. */
export function endedAs(reason: EndReason): Result<never> {
  if (reason === 'closing') return fail('SHUTTING_DOWN', 'the node is shutting down');
  const why = reason === 'late' ? 'did not answer in time' : 'is not asked: the caller gave up';
  return fail('LLM_UNAVAILABLE', `the chat model ${why}`);
}
