import type { Scheduler } from '../protocol/base/seams.js';

/** The time between two looks, which an end cuts short. */
export class Pause {
  ended = false;
  #wake: () => void = () => undefined;

  constructor(
    private readonly scheduler: Scheduler,
    private readonly ms: number,
  ) {}

  take(): Promise<void> {
    if (this.ended) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = this.scheduler.after(this.ms, resolve, { keepAlive: true });
      this.#wake = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  end(): void {
    this.ended = true;
    this.#wake();
  }
}
