import { fail, ok } from '../../protocol/base/result.js';
import type { Scheduler } from '../../protocol/base/seams.js';
import type { EmbeddingJob } from './embedding-queue.js';
import type { Model, ModelEvents } from './model.js';

/** A model that answers at once. */
export interface LoadedModel {
  /** The vectors of texts, one after the other. */
  encode(texts: readonly string[]): Float32Array;
  close(): void;
}

/** How a model is loaded, and who hears of it. */
export interface ModelHereOptions extends ModelEvents {
  readonly dim: number;
  readonly scheduler: Scheduler;
  readonly load: () => Promise<LoadedModel>;
}

/**
 * A model in this thread, for a process that has nothing to do until it has the vectors: a thread of its own would cost
 * three times as much as the first vector.
 */
export class ModelHere implements Model {
  readonly #options: ModelHereOptions;
  #model: LoadedModel | null = null;
  #jobs: readonly EmbeddingJob[] = [];
  #stopped = false;

  constructor(options: ModelHereOptions) {
    this.#options = options;
    void options.load().then(
      (model) => {
        if (this.#stopped) {
          model.close();
          return;
        }
        this.#model = model;
        options.ready('loaded');
      },
      (error) => {
        if (!this.#stopped) options.broken(messageOf(error));
      },
    );
  }

  get loaded(): boolean {
    return this.#model !== null;
  }

  get jobs(): readonly EmbeddingJob[] {
    return this.#jobs;
  }

  get isFree(): boolean {
    return this.loaded && this.#jobs.length === 0;
  }

  run(jobs: readonly EmbeddingJob[]): void {
    this.#jobs = jobs;
    // Between two batches the process hears of signals and timers.
    this.#options.scheduler.immediate(() => {
      if (!this.#stopped) this.#answer(jobs);
    });
  }

  hold(): void {}

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#jobs = [];
    this.#model?.close();
    this.#model = null;
  }

  #answer(jobs: readonly EmbeddingJob[]): void {
    const { dim, ready } = this.#options;
    try {
      const vectors = this.#model!.encode(jobs.map((job) => job.text));
      this.#jobs = [];
      for (const [place, job] of jobs.entries())
        job.settle(ok(vectors.slice(place * dim, (place + 1) * dim)));
      ready('embedded');
    } catch (error) {
      this.#jobs = [];
      for (const job of jobs) job.settle(fail('UNAVAILABLE', `the embedder failed: ${messageOf(error)}`));
      ready('refused');
    }
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
