import type { Embedder } from '../../node/semantics/embedder.js';
import { fail } from '../../protocol/base/result.js';

/** An embedder in a given state that notes what it is asked and has no answer. */
export class IdleEmbedder implements Embedder {
  readonly model = 'idle';
  readonly dim = 3;
  readonly input = { windowTokens: 90 };
  readonly deadlines: number[] = [];
  #closed = false;

  constructor(
    private readonly loaded: boolean,
    private readonly queries: number,
  ) {}

  embed() {
    return Promise.resolve(
      this.#closed ? fail('SHUTTING_DOWN', 'it is closed') : fail('OVERLOADED', 'it never takes a text'),
    );
  }
  embedQuery(_text: string, deadlineMs: number) {
    this.deadlines.push(deadlineMs);
    return Promise.resolve(
      this.#closed ? fail('SHUTTING_DOWN', 'it is closed') : fail('DEADLINE', 'too late'),
    );
  }
  state() {
    return { loaded: this.loaded, failing: false, lastError: null };
  }
  queueDepth() {
    return { queries: this.queries, background: 100 };
  }
  close() {
    this.#closed = true;
    return Promise.resolve();
  }
}
