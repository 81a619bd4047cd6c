/** Keeps the vectors of the latest queries; the least recently used one goes first. */
export class QueryCache {
  readonly #entriesMax: number;
  readonly #entries = new Map<string, Float32Array>();

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  get(text: string): Float32Array | null {
    const vector = this.#entries.get(text);
    if (vector === undefined) return null;
    // A Map iterates in the order of insertion, so the least recently used entry is first.
    this.#entries.delete(text);
    this.#entries.set(text, vector);
    return vector;
  }

  set(text: string, vector: Float32Array): void {
    this.#entries.delete(text);
    this.#entries.set(text, vector);
    if (this.#entries.size <= this.#entriesMax) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }
}
