import { Worker } from 'node:worker_threads';
import { REQUEST_DEADLINE_MS } from '../../protocol/base/limits.js';
import { type Failure, fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { Clock, Scheduler, Timer } from '../../protocol/base/seams.js';
import type { TokenCounter } from './token-counter.js';
import type { CountCall, CountReply } from './token-messages.js';

/** Characters that wait to be counted; more are OVERLOADED. */
const WAITING_CHARACTERS_MAX = 32 * 1024 * 1024;
/** The thread and its tables go after this long without work. */
const IDLE_MS = 600_000;

export interface ThreadTokenCounterOptions {
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** The thread's entry, for tests of its failures. */
  readonly entry?: URL;
}

interface Waiting {
  readonly call: Omit<CountCall, 'withinMs'>;
  readonly deadlineMs: number;
  readonly characters: number;
  readonly deadline: Timer;
  readonly settle: (counts: Result<readonly number[]>) => void;
}

/**
 * Counts in a thread of its own, so that no text, however hard it is to count, holds up the node. The thread starts with
 * the first count and gets one call at a time, so a call that has timed out never reaches it. A thread that dies fails
 * the open calls with UNAVAILABLE; the next call starts another.
 */
export class ThreadTokenCounter implements TokenCounter {
  readonly #options: ThreadTokenCounterOptions;
  /** Open calls, the oldest first; the thread works on one of them. */
  readonly #waiting = new Map<number, Waiting>();
  #running: number | null = null;
  #worker: Worker | null = null;
  #idle: Timer | null = null;
  #characters = 0;
  #nextId = 1;

  constructor(options: ThreadTokenCounterOptions) {
    this.#options = options;
  }

  counts(
    texts: readonly string[],
    budget: number,
    deadlineMs = this.#options.clock.monotonicMs() + REQUEST_DEADLINE_MS,
  ): Promise<Result<readonly number[]>> {
    const { clock, scheduler } = this.#options;
    const characters = texts.reduce((sum, text) => sum + text.length, 0);
    if (this.#characters > 0 && this.#characters + characters > WAITING_CHARACTERS_MAX) {
      return Promise.resolve(
        fail('OVERLOADED', 'too many texts wait to be counted; try again, or without a budget'),
      );
    }
    const withinMs = deadlineMs - clock.monotonicMs();
    if (withinMs <= 0) return Promise.resolve(LATE);
    const call = { id: this.#nextId++, texts, budget };
    return new Promise((settle) => {
      const deadline = scheduler.after(withinMs, () => this.#settle(call.id, LATE));
      this.#waiting.set(call.id, { call, deadlineMs, characters, deadline, settle });
      this.#characters += characters;
      this.#idle?.cancel();
      this.#idle = null;
      this.#pump();
    });
  }

  #pump(): void {
    if (this.#running !== null) return;
    const [next] = this.#waiting.values();
    if (next === undefined) return;
    const worker = this.#start();
    worker.ref();
    this.#running = next.call.id;
    const withinMs = next.deadlineMs - this.#options.clock.monotonicMs();
    worker.postMessage({ ...next.call, withinMs } satisfies CountCall);
  }

  #start(): Worker {
    if (this.#worker !== null) return this.#worker;
    const worker = new Worker(this.#options.entry ?? new URL('./token-thread.js', import.meta.url));
    let reason = 'its thread ended';
    worker.on('message', ({ id, counts }: CountReply) => {
      this.#running = null;
      this.#settle(id, counts === null ? LATE : ok(counts));
      this.#pump();
    });
    worker.on('error', (error) => {
      reason = error.message;
    });
    worker.on('exit', () => {
      if (this.#worker === worker)
        this.#fail({ code: 'UNAVAILABLE', message: `tokens cannot be counted: ${reason}` });
    });
    this.#worker = worker;
    return worker;
  }

  #settle(id: number, counts: Result<readonly number[]>): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    this.#characters -= waiting.characters;
    waiting.deadline.cancel();
    waiting.settle(counts);
    if (this.#waiting.size > 0) return;
    this.#idle?.cancel();
    // A process that ends does not wait for an idle thread.
    this.#worker?.unref();
    this.#idle = this.#options.scheduler.after(IDLE_MS, () => {
      const worker = this.#worker;
      this.#worker = null;
      this.#running = null;
      void worker?.terminate();
    });
  }

  #fail(failure: Failure): void {
    this.#worker = null;
    this.#running = null;
    for (const id of [...this.#waiting.keys()]) this.#settle(id, failed(failure));
  }
}

const LATE = fail('DEADLINE', 'the tokens were not counted in time');
