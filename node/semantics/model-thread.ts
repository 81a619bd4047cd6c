import { Worker } from 'node:worker_threads';
import { fail, ok } from '../../protocol/base/result.js';
import type { EmbedCall, EmbedReply } from './embedder-messages.js';
import type { EmbeddingJob } from './embedding-queue.js';

/** How a thread is started, and who hears of it. */
export interface ModelThreadOptions {
  /** The thread's entry, which speaks `embedder-messages`. */
  readonly entry: URL;
  readonly workerData: unknown;
  readonly dim: number;
  readonly printed: (text: string) => void;
  /** The thread can take a batch: it has loaded its model, or answered the last one. */
  readonly ready: (outcome: 'loaded' | 'embedded' | 'refused') => void;
  /** The thread ended by itself; its jobs are still in `jobs`. */
  readonly broken: (reason: string) => void;
}

/** A thread with a model, which embeds one batch at a time. */
export class ModelThread {
  readonly #options: ModelThreadOptions;
  readonly #worker: Worker;
  #loaded = false;
  #nextId = 1;
  #jobs: readonly EmbeddingJob[] = [];
  #stopped = false;

  constructor(options: ModelThreadOptions) {
    this.#options = options;
    // Nothing may reach stdout, which may carry a protocol. The streams are not read either: reading them would keep
    // the process alive. The thread sends what its libraries print as messages.
    this.#worker = new Worker(options.entry, { workerData: options.workerData, stdout: true, stderr: true });
    let reason = 'the embedder thread ended';
    this.#worker.on('message', (reply: EmbedReply) => {
      if (!this.#stopped) this.#receive(reply);
    });
    this.#worker.on('error', (error) => {
      reason = error.message;
    });
    this.#worker.on('exit', () => {
      if (!this.#stopped) options.broken(reason);
    });
  }

  get loaded(): boolean {
    return this.#loaded;
  }

  /** The batch under way. */
  get jobs(): readonly EmbeddingJob[] {
    return this.#jobs;
  }

  /** Whether it may take a batch now. */
  get isFree(): boolean {
    return this.#loaded && this.#jobs.length === 0;
  }

  run(jobs: readonly EmbeddingJob[]): void {
    const call: EmbedCall = { id: this.#nextId++, texts: jobs.map((job) => job.text) };
    this.#jobs = jobs;
    this.#worker.postMessage(call);
  }

  /** Whether the process stays alive for it. */
  hold(isNeeded: boolean): void {
    if (isNeeded) this.#worker.ref();
    else this.#worker.unref();
  }

  /** Ends it and answers the batch under way, which was not answered yet. */
  async stop(): Promise<readonly EmbeddingJob[]> {
    const jobs = this.#jobs;
    this.#stopped = true;
    this.#loaded = false;
    this.#jobs = [];
    await this.#worker.terminate();
    return jobs;
  }

  #receive(reply: EmbedReply): void {
    const { dim, printed, ready } = this.#options;
    if (reply.kind === 'printed') {
      printed(reply.text);
      return;
    }
    if (reply.kind === 'loaded') {
      this.#loaded = true;
      ready('loaded');
      return;
    }
    const jobs = this.#jobs;
    this.#jobs = [];
    if (reply.kind === 'failed') {
      for (const job of jobs) job.settle(fail('UNAVAILABLE', `the embedder failed: ${reply.message}`));
      ready('refused');
      return;
    }
    for (const [place, job] of jobs.entries()) {
      job.settle(ok(reply.vectors.slice(place * dim, (place + 1) * dim)));
    }
    ready('embedded');
  }
}
