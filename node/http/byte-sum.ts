/** The bytes of one sort that are under way over all connections, and the most that may be. */
export class ByteSum {
  #held = 0;

  constructor(readonly max: number) {}

  get held(): number {
    return this.#held;
  }

  fits(bytes: number): boolean {
    return this.#held + bytes <= this.max;
  }

  add(bytes: number): void {
    this.#held += bytes;
  }

  remove(bytes: number): void {
    this.#held -= bytes;
  }
}
