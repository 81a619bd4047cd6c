import { seededRandom } from '../bench/random.js';

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

  uuid(): string {
    const hex = Array.from({ length: 32 }, () => this.below(16).toString(16)).join('');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
  }
}
