import type { Ending } from './ending.js';

/** Lets so many questions be asked at the same time; the others wait in the order in which they came. */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  #taken = 0;

  constructor(private readonly max: { readonly asking: number; readonly waiting: number }) {}

  get taken(): number {
    return this.#taken;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** True when the question has its turn, which `leave` ends; `full` when too many wait; `ended` when it ended before. */
  async enter(ending: Ending): Promise<'in' | 'full' | 'ended'> {
    if (ending.reason !== null) return 'ended';
    if (this.#taken < this.max.asking) {
      this.#taken += 1;
      return 'in';
    }
    if (this.#waiting.length >= this.max.waiting) return 'full';
    return await new Promise((resolve) => {
      const admit = () => {
        ending.signal.removeEventListener('abort', give);
        resolve('in');
      };
      const give = () => {
        this.#waiting.splice(this.#waiting.indexOf(admit), 1);
        resolve('ended');
      };
      this.#waiting.push(admit);
      ending.signal.addEventListener('abort', give, { once: true });
    });
  }

  /** Gives the turn to who waits longest. */
  leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#taken -= 1;
    else next();
  }
}
