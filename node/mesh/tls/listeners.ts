/** Who wants to hear of a change. */
export class Listeners {
  readonly #listeners = new Set<() => void>();

  /** Answers how to stop being called. */
  add(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
