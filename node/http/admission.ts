import type { Exchange } from './exchange.js';

/**
 * The admission cap (interface §8): at most `max` requests run at a time; 0 means no cap. Exempt and refused
 * requests take no place. An admitted request gives its place back when it ends, answered or not.
 */
export class Admission {
  #held = 0;

  constructor(readonly max: number) {}

  /** Places in use. */
  get held(): number {
    return this.#held;
  }

  /** Takes a place for the exchange; false when no place is left. */
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
