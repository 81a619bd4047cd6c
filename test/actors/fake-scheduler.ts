import type { Clock, Random, Scheduler, Timer } from '../../protocol/base/seams.js';

interface FakeTimer extends Timer {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

/**
 * A clock and a scheduler that stand still until a test advances them. Timers run in the order of their instants, then
 * of their making.
 */
export class FakeScheduler implements Clock, Scheduler {
  /** How many timers were ever made. */
  timersMade = 0;
  private nowAtMs: number;
  private readonly timers = new Set<FakeTimer>();

  constructor(startMs = 1000) {
    this.nowAtMs = startMs;
  }

  nowMs(): number {
    return this.nowAtMs;
  }

  monotonicMs(): number {
    return this.nowAtMs;
  }

  after(delayMs: number, run: () => void): Timer {
    if (!(delayMs >= 0)) throw new Error(`a timer cannot wait ${delayMs} ms`);
    const timer: FakeTimer = {
      atMs: this.nowAtMs + delayMs,
      order: this.timersMade,
      run,
      cancel: () => void this.timers.delete(timer),
    };
    this.timersMade += 1;
    this.timers.add(timer);
    return timer;
  }

  immediate(run: () => void): void {
    this.after(0, run);
  }

  /** Timers that have neither run nor been cancelled. */
  get pending(): number {
    return this.timers.size;
  }

  /** Instant of the next timer, or null. */
  get nextAtMs(): number | null {
    return this.earliest()?.atMs ?? null;
  }

  /** Lets every promise settle that can without time passing. */
  settle(): Promise<void> {
    // The runner watches every promise, and tests settle hundred thousands of times, so the three turns make one.
    return new Promise((resolve) => {
      setImmediate(() => setImmediate(() => setImmediate(resolve)));
    });
  }

  /** Advances without letting promises settle in between. */
  advanceSync(ms: number): void {
    const untilMs = this.nowAtMs + ms;
    for (let timer = this.earliest(); timer !== undefined && timer.atMs <= untilMs; timer = this.earliest())
      this.fire(timer);
    this.nowAtMs = untilMs;
  }

  /** Advances, letting promises settle before, between and after the timers. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.nowAtMs + ms;
    await this.settle();
    for (let timer = this.earliest(); timer !== undefined && timer.atMs <= untilMs; timer = this.earliest()) {
      this.fire(timer);
      await this.settle();
    }
    this.nowAtMs = untilMs;
  }

  private fire(timer: FakeTimer): void {
    this.timers.delete(timer);
    this.nowAtMs = Math.max(this.nowAtMs, timer.atMs);
    timer.run();
  }

  private earliest(): FakeTimer | undefined {
    let first: FakeTimer | undefined;
    for (const timer of this.timers) {
      if (first === undefined || timer.atMs < first.atMs) first = timer;
      else if (timer.atMs === first.atMs && timer.order < first.order) first = timer;
    }
    return first;
  }
}

/** Chance that always draws the same number. */
export const constantRandom = (unit: number): Pick<Random, 'unit'> => ({ unit: () => unit });
