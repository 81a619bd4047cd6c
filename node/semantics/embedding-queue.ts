import type { Result } from '../../protocol/base/result.js';
import type { EmbedderDepth } from './embedder.js';

/** Most texts of one background batch. */
const BATCH_TEXTS_MAX = 8;
/**
 * Most words of a background batch that has more than one text. The model's time grows with the words (about 0.5 to
 * 0.8 ms each), and a query that arrives during a batch waits for its end: 96 words are at most about 80 ms.
 */
const BATCH_WORDS_MAX = 96;

/** One text to embed, and the callback for its vector. */
export interface EmbeddingJob {
  readonly text: string;
  readonly settle: (outcome: Result<Float32Array>) => void;
}

/** Jobs that wait: queries first and one at a time, then background texts in small batches. Pure state. */
export class EmbeddingQueue {
  #queries: EmbeddingJob[] = [];
  #background: EmbeddingJob[] = [];

  addQuery(job: EmbeddingJob): void {
    this.#queries.push(job);
  }

  addBackground(jobs: readonly EmbeddingJob[]): void {
    this.#background.push(...jobs);
  }

  /** The next batch, taken out of the queue; empty when nothing waits. */
  take(): EmbeddingJob[] {
    const query = this.#queries.shift();
    return query === undefined ? this.#takeBackground() : [query];
  }

  #takeBackground(): EmbeddingJob[] {
    let count = 0;
    let words = 0;
    for (const job of this.#background.slice(0, BATCH_TEXTS_MAX)) {
      words += wordCount(job.text);
      if (count > 0 && words > BATCH_WORDS_MAX) break;
      count += 1;
    }
    return this.#background.splice(0, count);
  }

  /** Removes a query whose caller gave up waiting; false when it is no longer there. */
  removeQuery(job: EmbeddingJob): boolean {
    const place = this.#queries.indexOf(job);
    if (place >= 0) this.#queries.splice(place, 1);
    return place >= 0;
  }

  /** Empties the queue. */
  drain(): EmbeddingJob[] {
    const jobs = [...this.#queries, ...this.#background];
    this.#queries = [];
    this.#background = [];
    return jobs;
  }

  depth(): EmbedderDepth {
    return { queries: this.#queries.length, background: this.#background.length };
  }
}

function wordCount(text: string): number {
  return text.split(/\s+/).length;
}
