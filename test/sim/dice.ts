import { createHash } from 'node:crypto';

/** A seeded generator (sfc32). Each purpose has its own, so that a new draw for one does not shift the others. */
export class Dice {
  private a: number;
  private b: number;
  private c: number;
  private counter = 1;

  constructor(seed: number | string, purpose: string) {
    const state = createHash('sha256').update(`${seed} ${purpose}`).digest();
    this.a = state.readInt32LE(0);
    this.b = state.readInt32LE(4);
    this.c = state.readInt32LE(8);
  }

  private next(): number {
    const sum = (((this.a + this.b) | 0) + this.counter) | 0;
    this.counter = (this.counter + 1) | 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) | 0;
    this.c = (this.c << 21) | (this.c >>> 11);
    this.c = (this.c + sum) | 0;
    return sum >>> 0;
  }

  /** A number in [0, 1). */
  unit(): number {
    return this.next() / 0x1_0000_0000;
  }

  /** True with this probability. */
  chance(probability: number): boolean {
    return this.unit() < probability;
  }

  /** An integer from 0 to `below` - 1. */
  below(below: number): number {
    return Math.floor(this.unit() * below);
  }

  /** A number in [low, high). */
  between(low: number, high: number): number {
    return low + this.unit() * (high - low);
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)]!;
  }

  /** The values in another order. */
  shuffle<T>(values: readonly T[]): T[] {
    const order = [...values];
    for (let index = order.length - 1; index > 0; index -= 1) {
      const other = this.below(index + 1);
      [order[index], order[other]] = [order[other]!, order[index]!];
    }
    return order;
  }

  bytes(count: number): Uint8Array {
    return Uint8Array.from({ length: count }, () => this.next() & 0xff);
  }

  /** A version 4 UUID. */
  uuid(): string {
    const bytes = this.bytes(16);
    bytes[6] = (bytes[6]! & 0x0f) | 0x40;
    bytes[8] = (bytes[8]! & 0x3f) | 0x80;
    const hex = Buffer.from(bytes).toString('hex');
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
  }
}
