import { WEBHOOK_LOOKUPS_MAX } from '../../protocol/base/limits.js';

/** An address of a host, as a resolver answers it. */
export interface Resolved {
  readonly address: string;
  readonly family: number;
}

/**
 * Resolves hosts, a few at a time: a lookup of the system cannot be cancelled, and holds one of the few threads of the
 * process until it ends. Those who ask for a host that is being resolved share the answer.
 */
export class Lookups {
  readonly #resolve: (host: string) => Promise<readonly Resolved[]>;
  readonly #running = new Map<string, Promise<readonly Resolved[]>>();
  readonly #waiting = new Set<() => void>();

  constructor(resolve: (host: string) => Promise<readonly Resolved[]>) {
    this.#resolve = resolve;
  }

  /** The addresses of a host. Waits for room, and rejects when the signal comes first. */
  async of(host: string, signal: AbortSignal): Promise<readonly Resolved[]> {
    for (;;) {
      signal.throwIfAborted();
      const running = this.#running.get(host);
      if (running !== undefined) return running;
      if (this.#running.size < WEBHOOK_LOOKUPS_MAX) return this.#begin(host);
      await this.#room(signal);
    }
  }

  #begin(host: string): Promise<readonly Resolved[]> {
    const found = this.#resolve(host).finally(() => {
      this.#running.delete(host);
      for (const wake of this.#waiting) wake();
    });
    this.#running.set(host, found);
    return found;
  }

  async #room(signal: AbortSignal): Promise<void> {
    let wake = () => {};
    await new Promise<void>((resolve) => {
      wake = resolve;
      this.#waiting.add(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
    this.#waiting.delete(wake);
    signal.removeEventListener('abort', wake);
  }
}
