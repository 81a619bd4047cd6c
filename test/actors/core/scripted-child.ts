import type { ChildSpec, ExitReason, RunningChild } from '../../../actors/core/child.js';
import type { RestartPolicy } from '../../../actors/core/restart-policy.js';

/** A child under the test's hand: it notes what happens to it and ends when the test says so. */
export class ScriptedChild {
  /** Incarnations started so far. */
  starts = 0;
  /** Errors of the next starts, used up one by one; null starts well. */
  startErrors: (Error | null)[] = [];
  /** What `stop` rejects with. */
  stopError: Error | null = null;
  /** When set, a start waits until the test calls `release`. */
  held = false;
  /** When set, `stop` never resolves. */
  stopHangs = false;
  private released: (() => void) | null = null;
  private end: ((reason: ExitReason) => void) | null = null;

  constructor(
    readonly id: string,
    private readonly journal: string[],
  ) {}

  spec(policy: RestartPolicy, stopTimeoutMs?: number): ChildSpec {
    const start = (stopping: AbortSignal) => this.start(stopping);
    return stopTimeoutMs === undefined
      ? { id: this.id, policy, start }
      : { id: this.id, policy, start, stopTimeoutMs };
  }

  /** Lets a held start go on. */
  release(): void {
    this.released?.();
  }

  /** Ends the present incarnation by itself. */
  fail(message: string): void {
    this.journal.push(`fail ${this.id}`);
    this.end?.({ kind: 'failed', error: new Error(message) });
  }

  /** Ends the present incarnation as if it had been asked to. */
  leave(): void {
    this.end?.({ kind: 'stopped' });
  }

  private async start(stopping: AbortSignal): Promise<RunningChild> {
    this.starts += 1;
    this.journal.push(`start ${this.id}`);
    const error = this.startErrors.shift() ?? null;
    if (error !== null) throw error;
    if (this.held) {
      await new Promise<void>((resolve, reject) => {
        this.released = resolve;
        stopping.addEventListener('abort', () => reject(new Error('told to stop')));
      });
    }
    const stopped = new Promise<ExitReason>((resolve) => {
      this.end = resolve;
    });
    return { stopped, stop: () => this.stop() };
  }

  private async stop(): Promise<void> {
    this.journal.push(`stop ${this.id}`);
    if (this.stopHangs) await new Promise<never>(() => {});
    // Stopping takes a turn, so that a supervisor that does not wait is found out.
    await Promise.resolve();
    this.journal.push(`stopped ${this.id}`);
    this.end?.({ kind: 'stopped' });
    if (this.stopError !== null) throw this.stopError;
  }
}
