import type { Effect } from '../pipeline/operation.js';

/**
 * Writes of a session run one after the other, as they came; a read waits for the writes before it and for nothing else.
 * A client that sends a store and a recall together therefore finds what it stored, and a slow read delays no other call.
 */
export class CallOrder {
  /** Resolves when the writes so far have ended. */
  private writes: Promise<unknown> = Promise.resolve();
  private readonly underWay = new Set<Promise<unknown>>();

  run<T>(effect: Effect, work: () => Promise<T>): Promise<T> {
    const turn = this.writes.then(work);
    const ended = turn.then(
      () => undefined,
      () => undefined,
    );
    this.underWay.add(ended);
    void ended.then(() => this.underWay.delete(ended));
    if (effect === 'write') this.writes = ended;
    return turn;
  }

  /** Resolves when every call has ended. */
  async settled(): Promise<void> {
    while (this.underWay.size > 0) await Promise.all(this.underWay);
  }
}
