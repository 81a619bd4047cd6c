/** A power of two. */
const INITIAL_LENGTH = 16;

/**
 * A first-in first-out queue of messages with their sizes, on two parallel arrays whose length is a power of two, so
 * that an entry costs two stores and no allocation. Grows by doubling; its owner bounds it.
 */
export class Ring<T> {
  private messages: (T | undefined)[] = new Array(INITIAL_LENGTH);
  private sizes: number[] = new Array(INITIAL_LENGTH).fill(0);
  private mask = INITIAL_LENGTH - 1;
  private head = 0;
  private count = 0;

  get length(): number {
    return this.count;
  }

  push(message: T, sizeBytes: number): void {
    if (this.count > this.mask) this.grow();
    const at = (this.head + this.count) & this.mask;
    this.messages[at] = message;
    this.sizes[at] = sizeBytes;
    this.count += 1;
  }

  /** Puts a message before the oldest one. */
  unshift(message: T, sizeBytes: number): void {
    if (this.count > this.mask) this.grow();
    this.head = (this.head - 1) & this.mask;
    this.messages[this.head] = message;
    this.sizes[this.head] = sizeBytes;
    this.count += 1;
  }

  /** Bytes of the oldest message; only for a queue that is not empty. */
  headSizeBytes(): number {
    return this.sizes[this.head]!;
  }

  /** Removes the oldest message; only for a queue that is not empty. */
  shift(): T {
    const message = this.messages[this.head] as T;
    // The slot would keep a processed message alive.
    this.messages[this.head] = undefined;
    this.head = (this.head + 1) & this.mask;
    this.count -= 1;
    return message;
  }

  /** Removes every message for which `dead` is true, keeps the order of the others, and returns the bytes removed. */
  removeWhere(dead: (message: T) => boolean): number {
    let removedBytes = 0;
    let kept = 0;
    for (let index = 0; index < this.count; index += 1) {
      const from = (this.head + index) & this.mask;
      const message = this.messages[from] as T;
      if (dead(message)) {
        removedBytes += this.sizes[from]!;
        continue;
      }
      const to = (this.head + kept) & this.mask;
      this.messages[to] = message;
      this.sizes[to] = this.sizes[from]!;
      kept += 1;
    }
    for (let index = kept; index < this.count; index += 1)
      this.messages[(this.head + index) & this.mask] = undefined;
    this.count = kept;
    return removedBytes;
  }

  private grow(): void {
    const length = (this.mask + 1) * 2;
    const messages: (T | undefined)[] = new Array(length);
    const sizes: number[] = new Array(length).fill(0);
    for (let index = 0; index < this.count; index += 1) {
      const from = (this.head + index) & this.mask;
      messages[index] = this.messages[from];
      sizes[index] = this.sizes[from]!;
    }
    this.messages = messages;
    this.sizes = sizes;
    this.mask = length - 1;
    this.head = 0;
  }
}
