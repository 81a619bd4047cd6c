import { fault } from './surface.js';

/** Inputs that are kept of those that were refused since the last proof. */
const KEPT_MAX = 4000;
const ROUNDS_MAX = 6;

/**
 * Holds inputs that were refused, and proves now and then that they change nothing: all are sent again between two
 * digests of the state, and where these differ, halves of them, until one is left.
 */
export class Refused<T> {
  #kept: T[] = [];
  #seen = 0;
  proven = 0;

  constructor(
    private readonly parts: {
      /** The state once it rests, and as it is now. */
      readonly digest: () => Promise<string>;
      readonly digestNow: () => string;
      /** Sends inputs again; says of each whether it was refused. */
      readonly send: (inputs: readonly T[]) => Promise<readonly boolean[]>;
      readonly show: (input: T) => string;
      readonly keptMax?: number;
    },
  ) {}

  /** A place among the kept ones; later inputs take the places of earlier ones in turn. */
  add(input: T): void {
    const max = this.parts.keptMax ?? KEPT_MAX;
    if (this.#kept.length < max) this.#kept.push(input);
    else this.#kept[this.#seen % max] = input;
    this.#seen += 1;
  }

  /** Throws with the one input that was refused and changed the state. */
  async prove(): Promise<void> {
    let left = this.#kept;
    this.#kept = [];
    this.#seen = 0;
    // What is accepted the second time (its title is free, its id exists now) is left out, and the others are sent anew.
    for (let round = 0; round < ROUNDS_MAX && left.length > 0; round += 1) {
      const refused = await this.#refusedOf(left);
      const settled = refused.length === left.length;
      left = refused;
      if (!settled) continue;
      const again = await this.#again(left);
      if (!again.changed) {
        this.proven += left.length;
        return;
      }
      if (again.refused.length === left.length) await this.#bisect(left);
      left = again.refused;
    }
  }

  async #bisect(inputs: readonly T[]): Promise<void> {
    let suspects = inputs;
    while (suspects.length > 1) {
      const half = suspects.slice(0, Math.ceil(suspects.length / 2));
      const { changed } = await this.#again(half);
      suspects = changed ? half : suspects.slice(half.length);
    }
    const { changed, difference, refused } = await this.#again(suspects);
    const shown = suspects.map((each) => this.parts.show(each));
    if (changed && refused.length === suspects.length) {
      fault('what was refused changed the state', ...difference, ...shown);
    }
    fault(`${inputs.length} refused inputs changed the state together, and none of them alone`, ...shown);
  }

  async #refusedOf(inputs: readonly T[]): Promise<T[]> {
    const verdicts = await this.parts.send(inputs);
    return inputs.filter((_, index) => verdicts[index] === true);
  }

  async #again(inputs: readonly T[]) {
    const before = await this.parts.digest();
    const refused = await this.#refusedOf(inputs);
    // What was read before may be counted late; then the state is looked at until it rests.
    const after = this.parts.digestNow() === before ? before : await this.parts.digest();
    const known = new Set(before.split('\n'));
    const difference = after.split('\n').filter((line) => !known.has(line));
    return { changed: before !== after, difference, refused };
  }
}
