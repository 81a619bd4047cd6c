import type { ErrorCode } from '../../protocol/base/errors.js';
import { fail, type Result } from '../../protocol/base/result.js';
import type { Clock, Scheduler, Timer } from '../../protocol/base/seams.js';
import type { Lane } from './mailbox.js';

/** How an ask is sent. */
export interface AskOptions {
  /** On the monotonic clock, in milliseconds; finite, so that no ask waits for ever. */
  readonly deadlineMs: number;
  readonly lane: Lane;
  /** Who asks: within a lane, those who ask take turns. */
  readonly from?: string;
}

/**
 * Failures that the actor library itself causes. OVERLOADED and SHUTTING_DOWN: not taken. DEADLINE and ACTOR_RESTARTED:
 * outcome unknown, retry only with the idempotency key. Every other code comes from the domain and is final.
 */
export type AskFailureCode = Extract<
  ErrorCode,
  'OVERLOADED' | 'SHUTTING_DOWN' | 'DEADLINE' | 'ACTOR_RESTARTED'
>;

/** One ask that waits for its reply. Made by `PendingReplies.register`, settled through it. */
export interface PendingReply<T> {
  readonly promise: Promise<Result<T>>;
  readonly deadlineMs: number;
  readonly settled: boolean;
}

/** What a table of pending replies needs. */
export interface PendingRepliesOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly scheduler: Pick<Scheduler, 'after'>;
  /** Least time between two sweeps, so an expiry is reported at most this late; default 10 ms. */
  readonly sweepIntervalMs?: number;
  /** Called after a sweep that expired this many asks. */
  readonly onExpired?: (count: number) => void;
}

/**
 * The asks that an actor has not answered yet, in the order of registration. Each settles exactly once: by a result, by
 * its deadline or by `failAll`. All deadlines share one timer, which is armed only while asks are pending.
 */
export class PendingReplies<T> {
  private first: Entry<T> | null = null;
  private last: Entry<T> | null = null;
  private count = 0;
  private timer: Timer | null = null;
  private timerAtMs = Number.POSITIVE_INFINITY;
  private readonly sweepIntervalMs: number;

  constructor(private readonly options: PendingRepliesOptions) {
    this.sweepIntervalMs = options.sweepIntervalMs ?? SWEEP_INTERVAL_MS;
  }

  get size(): number {
    return this.count;
  }

  /** Adds an ask. Its promise never rejects. */
  register(deadlineMs: number): PendingReply<T> {
    if (!Number.isFinite(deadlineMs))
      throw new Error('an ask needs a finite deadline, or it could wait for ever');
    const entry = new Entry<T>(deadlineMs);
    entry.previous = this.last;
    if (this.last === null) this.first = entry;
    else this.last.next = entry;
    this.last = entry;
    this.count += 1;
    // The tolerance prevents a new timer for each slightly earlier deadline.
    if (deadlineMs < this.timerAtMs - this.sweepIntervalMs)
      this.arm(deadlineMs - this.options.clock.monotonicMs());
    return entry;
  }

  /** Answers an ask; false when it already has its answer, which is then kept. */
  settle(reply: PendingReply<T>, result: Result<T>): boolean {
    const entry = reply as Entry<T>;
    if (entry.settled) return false;
    this.remove(entry);
    entry.resolve(result);
    if (this.count === 0) this.disarm();
    return true;
  }

  /** Answers every pending ask with one failure, oldest first; returns how many. */
  failAll(code: AskFailureCode, message: string): number {
    const failure = fail(code, message);
    let failedCount = 0;
    for (let entry = this.first; entry !== null; entry = this.first) {
      this.remove(entry);
      entry.resolve(failure);
      failedCount += 1;
    }
    this.disarm();
    return failedCount;
  }

  private sweep(): void {
    this.timer = null;
    this.timerAtMs = Number.POSITIVE_INFINITY;
    const nowMs = this.options.clock.monotonicMs();
    let earliestMs = Number.POSITIVE_INFINITY;
    let expired = 0;
    for (let entry = this.first; entry !== null; ) {
      const next: Entry<T> | null = entry.next;
      if (entry.deadlineMs <= nowMs) {
        this.remove(entry);
        entry.resolve(DEADLINE_PASSED);
        expired += 1;
      } else if (entry.deadlineMs < earliestMs) earliestMs = entry.deadlineMs;
      entry = next;
    }
    if (this.count > 0) this.arm(Math.max(earliestMs - nowMs, this.sweepIntervalMs));
    if (expired > 0) this.options.onExpired?.(expired);
  }

  private arm(delayMs: number): void {
    this.timer?.cancel();
    const boundedMs = Math.min(Math.max(Math.ceil(delayMs), 0), SWEEP_DELAY_MS_MAX);
    this.timerAtMs = this.options.clock.monotonicMs() + boundedMs;
    // A caller waits for the answer, so the process must live until then.
    this.timer = this.options.scheduler.after(boundedMs, () => this.sweep(), { keepAlive: true });
  }

  private disarm(): void {
    this.timer?.cancel();
    this.timer = null;
    this.timerAtMs = Number.POSITIVE_INFINITY;
  }

  private remove(entry: Entry<T>): void {
    entry.settled = true;
    if (entry.previous === null) this.first = entry.next;
    else entry.previous.next = entry.next;
    if (entry.next === null) this.last = entry.previous;
    else entry.next.previous = entry.previous;
    entry.previous = null;
    entry.next = null;
    this.count -= 1;
  }
}

/** An entry of the linked list: removal costs the same at any place, and a sweep walks the list without a copy. */
class Entry<T> implements PendingReply<T> {
  readonly promise: Promise<Result<T>>;
  resolve!: (result: Result<T>) => void;
  settled = false;
  previous: Entry<T> | null = null;
  next: Entry<T> | null = null;

  constructor(readonly deadlineMs: number) {
    this.promise = new Promise((resolve) => {
      this.resolve = resolve;
    });
  }
}

const SWEEP_INTERVAL_MS = 10;
/** Node's timers overflow above 2^31 ms; a far deadline is checked again at this interval. */
const SWEEP_DELAY_MS_MAX = 3_600_000;
const DEADLINE_PASSED = fail('DEADLINE', 'the deadline passed before an answer came; the outcome is unknown');
