import { seededRandom } from '../../bench/random.js';

/** A seeded source of choices: the same seed gives the same run. */
export class Dice {
  /** A number in [0, 1). */
  readonly unit: () => number;

  constructor(seed: number) {
    this.unit = seededRandom(seed);
  }

  /** True with this probability. */
  chance(probability: number): boolean {
    return this.unit() < probability;
  }

  /** An integer from 0 to `below` - 1. */
  below(below: number): number {
    return Math.floor(this.unit() * below);
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)]!;
  }
}
