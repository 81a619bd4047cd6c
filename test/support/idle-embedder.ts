import type { Embedder } from '../../node/semantics/embedder.js';
import { fail } from '../../protocol/base/result.js';

/** An embedder that has no answer. */
export class IdleEmbedder implements Embedder {
  readonly model = 'idle';
  readonly dim = 3;
  readonly input = { windowTokens: 90 };
  readonly queryWaitMs = 1000;
  #closed = false;

  embed() {
    return Promise.resolve(
      this.#closed ? fail('SHUTTING_DOWN', 'it is closed') : fail('OVERLOADED', 'it never takes a text'),
    );
  }
  embedQuery(_text: string, _deadlineMs: number) {
    return Promise.resolve(
      this.#closed ? fail('SHUTTING_DOWN', 'it is closed') : fail('DEADLINE', 'too late'),
    );
  }
  state() {
    return { loaded: true, failing: false, lastError: null };
  }
  queueDepth() {
    return { queries: 0, background: 100 };
  }
  close() {
    this.#closed = true;
    return Promise.resolve();
  }
}
