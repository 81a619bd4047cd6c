import type { Clock, Scheduler } from '../../protocol/base/seams.js';

interface Waiting {
  readonly take: (release: () => void) => void;
}

/** Places for children. Who finds none waits in order, and no longer than its time; too many do not wait at all. */
export class ChildSlots {
  #free: number;
  readonly #queue = new Set<Waiting>();

  constructor(
    places: number,
    private readonly waitingMax: number,
    private readonly seams: { readonly clock: Pick<Clock, 'monotonicMs'>; readonly scheduler: Scheduler },
  ) {
    this.#free = places;
  }

  /** Resolves with what gives the place back, which must be called once. */
  take(untilMs: number): Promise<(() => void) | 'busy'> {
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve(this.#release());
    }
    if (this.#queue.size >= this.waitingMax) return Promise.resolve('busy');
    const { clock, scheduler } = this.seams;
    return new Promise((resolve) => {
      const waiting: Waiting = {
        take: (release) => {
          timer.cancel();
          resolve(release);
        },
      };
      const timer = scheduler.after(Math.max(0, untilMs - clock.monotonicMs()), () => {
        this.#queue.delete(waiting);
        resolve('busy');
      });
      this.#queue.add(waiting);
    });
  }

  #release(): () => void {
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const [next] = this.#queue;
      if (next === undefined) {
        this.#free += 1;
        return;
      }
      this.#queue.delete(next);
      next.take(this.#release());
    };
  }
}
