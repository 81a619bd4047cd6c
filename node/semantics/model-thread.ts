import { Worker } from 'node:worker_threads';
import { fail, ok } from '../../protocol/base/result.js';
import type { EmbedCall, EmbedReply } from './embedder-messages.js';
import type { EmbeddingJob } from './embedding-queue.js';
import type { Model, ModelEvents } from './model.js';

/** How a thread is started, and who hears of it. */
export interface ModelThreadOptions extends ModelEvents {
  /** The thread's entry, which speaks `embedder-messages`. */
  readonly entry: URL;
  readonly workerData?: unknown;
  readonly dim: number;
}

/** A model in a thread of its own. Text written by its libraries goes to the log, never to stdout. */
export class ModelThread implements Model {
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

  get jobs(): readonly EmbeddingJob[] {
    return this.#jobs;
  }

  get isFree(): boolean {
    return this.#loaded && this.#jobs.length === 0;
  }

  run(jobs: readonly EmbeddingJob[]): void {
    const call: EmbedCall = { id: this.#nextId++, texts: jobs.map((job) => job.text) };
    this.#jobs = jobs;
    this.#worker.postMessage(call);
  }

  hold(isNeeded: boolean): void {
    if (isNeeded) this.#worker.ref();
    else this.#worker.unref();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#loaded = false;
    this.#jobs = [];
    await this.#worker.terminate();
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
