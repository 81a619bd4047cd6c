import type { Scheduler, Timer } from '../../protocol/base/seams.js';

/**
 * Whether this node takes writes. Each reason that holds the gate shut ends by itself after a given time, because a
 * write that waits for ever is worse than one that has to be merged. Only a node that has not begun waits without limit.
 */
export class WriteGate {
  private readonly holds = new Map<string, Timer | null>();
  private waiting: (() => void)[] = [];

  constructor(private readonly scheduler: Pick<Scheduler, 'after'>) {}

  get open(): boolean {
    return this.holds.size === 0;
  }

  /** Shuts the gate for a reason, at most for `atMostMs` unless it is null; again for the same reason restarts the time. */
  hold(reason: string, atMostMs: number | null): void {
    this.holds.get(reason)?.cancel();
    const timer = atMostMs === null ? null : this.scheduler.after(atMostMs, () => this.release(reason));
    this.holds.set(reason, timer);
  }

  held(reason: string): boolean {
    return this.holds.has(reason);
  }

  release(reason: string): void {
    this.holds.get(reason)?.cancel();
    if (!this.holds.delete(reason) || !this.open) return;
    const { waiting } = this;
    this.waiting = [];
    for (const resume of waiting) resume();
  }

  /** Opens for good; waiting callers continue. */
  close(): void {
    for (const reason of [...this.holds.keys()]) this.release(reason);
  }

  /** Resolves when writes may begin. */
  wait(): Promise<void> {
    if (this.open) return Promise.resolve();
    return new Promise((resolve) => {
      this.waiting.push(resolve);
    });
  }
}
