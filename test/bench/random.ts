/** Numbers in [0, 1) that are the same in every run with the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Draws places 0 to count-1, place k with weight 1/(k+1)^exponent. */
export class ZipfDraw {
  private readonly sums: Float64Array;

  constructor(count: number, exponent: number) {
    this.sums = new Float64Array(count);
    let sum = 0;
    for (let at = 0; at < count; at += 1) {
      sum += 1 / (at + 1) ** exponent;
      this.sums[at] = sum;
    }
  }

  /** The place for a number in [0, 1). */
  at(unit: number): number {
    const { sums } = this;
    const sought = unit * sums[sums.length - 1]!;
    let low = 0;
    let high = sums.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle]! <= sought) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** How likely a place is. */
  share(place: number): number {
    const before = place === 0 ? 0 : this.sums[place - 1]!;
    return (this.sums[place]! - before) / this.sums[this.sums.length - 1]!;
  }
}
