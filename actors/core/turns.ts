import { Ring } from './ring.js';

/** A queue whose senders take turns: each one's messages stay in their order, and none waits for all of another's. */
export class Turns<T> {
  private readonly rings = new Map<string, Ring<T>>();
  /** Those who have messages, the next one first. */
  private readonly order: string[] = [];
  private count = 0;

  get length(): number {
    return this.count;
  }

  push(message: T, sizeBytes: number, from: string): void {
    this.ringOf(from).push(message, sizeBytes);
    this.count += 1;
  }

  /** Puts a message before all others of its sender. */
  putBack(message: T, sizeBytes: number, from: string): void {
    this.ringOf(from).unshift(message, sizeBytes);
    this.count += 1;
  }

  /** Bytes of the next message; only for a queue that is not empty. */
  headSizeBytes(): number {
    return this.rings.get(this.order[0]!)!.headSizeBytes();
  }

  /** Removes the next message; only for a queue that is not empty. */
  shift(): T {
    const from = this.order[0]!;
    const ring = this.rings.get(from)!;
    const message = ring.shift();
    this.count -= 1;
    if (ring.length === 0) {
      this.order.shift();
      this.rings.delete(from);
    } else if (this.order.length > 1) {
      this.order.shift();
      this.order.push(from);
    }
    return message;
  }

  /** Removes every message for which `dead` is true, and returns the bytes removed. */
  removeWhere(dead: (message: T) => boolean): number {
    let bytes = 0;
    this.count = 0;
    for (const [from, ring] of this.rings) {
      bytes += ring.removeWhere(dead);
      this.count += ring.length;
      if (ring.length > 0) continue;
      this.rings.delete(from);
      this.order.splice(this.order.indexOf(from), 1);
    }
    return bytes;
  }

  private ringOf(from: string): Ring<T> {
    let ring = this.rings.get(from);
    if (ring === undefined) {
      ring = new Ring<T>();
      this.rings.set(from, ring);
      this.order.push(from);
    }
    return ring;
  }
}
