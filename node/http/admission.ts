import type { Exchange } from './exchange.js';

/**
 * The admission cap (interface §8): at most `max` requests are under way, 0 for no cap. Requests that are exempt or
 * were refused hold no place; one that was admitted gives its place back when it ends, answered or not.
 */
export class Admission {
  #held = 0;

  constructor(readonly max: number) {}

  /** Places that are taken. */
  get held(): number {
    return this.#held;
  }

  /** Takes a place for the exchange; false when none is left. */
  enter(exchange: Exchange): boolean {
    if (this.max > 0 && this.#held >= this.max) return false;
    this.#held += 1;
    exchange.admitted = true;
    return true;
  }

  leave(exchange: Exchange): void {
    if (!exchange.admitted) return;
    exchange.admitted = false;
    this.#held -= 1;
  }
}
