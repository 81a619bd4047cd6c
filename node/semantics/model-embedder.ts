import { type BackoffPolicy, backoffDelayMs } from '../../actors/core/backoff.js';
import { BoundedMap } from '../../protocol/base/bounded-map.js';
import { CACHED_QUERIES_MAX, EMBED_QUERIES_MAX, MEANING_WAIT_MS } from '../../protocol/base/limits.js';
import { type Failure, fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { Clock, Log, Scheduler, Timer } from '../../protocol/base/seams.js';
import { chunkQuery } from './chunking.js';
import type { Embedder, EmbedderDepth, EmbedderInput, EmbedderState } from './embedder.js';
import { type EmbeddingJob, EmbeddingQueue } from './embedding-queue.js';
import type { Model, ModelEvents } from './model.js';

/** Most waiting background texts; more are OVERLOADED. */
const BACKGROUND_TEXTS_MAX = 1024;
const IDLE_MS = 600_000;
const BACK_OFF: BackoffPolicy = { initialMs: 1000, maxMs: 300_000, jitter: 0, stableMs: 0 };

/** What is known of a model, and how it is loaded. */
export interface ModelEmbedderOptions {
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly log: Log;
  readonly model: string;
  readonly dim: number;
  readonly input: EmbedderInput;
  readonly open: (events: ModelEvents) => Model;
  readonly prefixes?: { readonly query: string; readonly text: string };
  /** The model is unloaded after this long without work; 10 minutes by default. */
  readonly idleMs?: number;
}

/**
 * An embedder whose model is loaded in this process with the first text, and ended when idle (its memory comes and goes
 * with it). A query waits for at most one small background batch. When the model cannot be loaded or dies, open calls and
 * later ones fail with UNAVAILABLE at once; after a back-off (1 s, doubled up to 5 min) the next call tries again.
 */
export class ModelEmbedder implements Embedder {
  readonly model: string;
  readonly dim: number;
  readonly input: EmbedderInput;
  /** It answers in order what waits for it, also on a slow or busy machine. */
  readonly queryWaitMs = MEANING_WAIT_MS;
  readonly #options: ModelEmbedderOptions;
  readonly #queue = new EmbeddingQueue();
  readonly #cache = new BoundedMap<string, Float32Array>(CACHED_QUERIES_MAX);
  #model: Model | null = null;
  #runsQuery = false;
  #failures = 0;
  #retryAtMs = 0;
  #lastError: string | null = null;
  #idleTimer: Timer | null = null;
  #closed = false;

  constructor(options: ModelEmbedderOptions) {
    this.#options = options;
    this.model = options.model;
    this.dim = options.dim;
    this.input = options.input;
  }

  async embed(texts: readonly string[]): Promise<Result<Float32Array[]>> {
    const refusal = this.#refusal();
    if (refusal !== null) return failed(refusal);
    if (texts.some((text) => text.trim() === '')) return fail('INVALID_ARGUMENT', 'blank text has no vector');
    if (this.#queue.depth().background + texts.length > BACKGROUND_TEXTS_MAX) {
      return fail('OVERLOADED', `more than ${BACKGROUND_TEXTS_MAX} texts would wait for the embedder`);
    }
    const prefix = this.#options.prefixes?.text ?? '';
    const outcomes = texts.map(
      (text) =>
        new Promise<Result<Float32Array>>((settle) =>
          this.#queue.addBackground([{ text: prefix + text, settle }]),
        ),
    );
    this.#pump();
    const vectors: Float32Array[] = [];
    for (const outcome of await Promise.all(outcomes)) {
      if (!outcome.ok) return failed(outcome.error);
      vectors.push(outcome.value);
    }
    return ok(vectors);
  }

  async embedQuery(text: string, deadlineMs: number): Promise<Result<Float32Array>> {
    if (this.#closed) return failed(SHUTTING_DOWN);
    const chunking = chunkQuery(text, this.input);
    if (!chunking.ok) {
      return fail('INVALID_ARGUMENT', 'the text has no letters', { reason: chunking.reason });
    }
    const query = chunking.windows[0]!;
    const cached = this.#cache.use(query);
    if (cached !== undefined) return ok(cached);
    const refusal = this.#refusal();
    if (refusal !== null) return failed(refusal);
    if (this.#queue.depth().queries >= EMBED_QUERIES_MAX) {
      return fail('OVERLOADED', `${EMBED_QUERIES_MAX} queries wait for the embedder`);
    }
    const { clock, scheduler } = this.#options;
    const deadlinePassed = fail('DEADLINE', 'the embedder did not answer in time');
    const remainingMs = deadlineMs - clock.monotonicMs();
    if (remainingMs <= 0) return deadlinePassed;
    return await new Promise<Result<Float32Array>>((resolve) => {
      const job: EmbeddingJob = {
        text: (this.#options.prefixes?.query ?? '') + query,
        settle: (outcome) => {
          timer.cancel();
          // A vector that came too late for this call still serves the next one.
          if (outcome.ok) this.#cache.set(query, outcome.value);
          resolve(outcome);
        },
      };
      const timer = scheduler.after(remainingMs, () => {
        this.#queue.removeQuery(job);
        resolve(deadlinePassed);
      });
      this.#queue.addQuery(job);
      this.#pump();
    });
  }

  state(): EmbedderState {
    return {
      loaded: this.#model?.loaded === true,
      failing: this.#failures > 0,
      lastError: this.#lastError,
    };
  }

  queueDepth(): EmbedderDepth {
    const { queries, background } = this.#queue.depth();
    const running = this.#model?.jobs.length ?? 0;
    const asked = this.#runsQuery ? running : 0;
    return { queries: queries + asked, background: background + running - asked };
  }

  /** Begins to load the model. */
  async warm(): Promise<void> {
    if (this.#refusal() === null) this.#start();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#stop(SHUTTING_DOWN);
  }

  /** Why a call is refused at once; null when it may wait. */
  #refusal(): Failure | null {
    if (this.#closed) return SHUTTING_DOWN;
    if (this.#failures === 0 || this.#model !== null) return null;
    if (this.#options.clock.monotonicMs() >= this.#retryAtMs) return null;
    return { code: 'UNAVAILABLE', message: `the embedder is failing: ${this.#lastError}` };
  }

  #pump(): void {
    const { queries, background } = this.#queue.depth();
    if (queries + background === 0) {
      if (this.#model?.jobs.length === 0) this.#model.hold(false);
      return;
    }
    const model = this.#start();
    model.hold(true);
    if (model.isFree) {
      this.#idleTimer?.cancel();
      this.#idleTimer = null;
      this.#runsQuery = queries > 0;
      model.run(this.#queue.take());
    }
  }

  #start(): Model {
    if (this.#model !== null) return this.#model;
    const { open, log } = this.#options;
    const model: Model = open({
      printed: (output) => log.debug({ output }, 'embedder output'),
      ready: (outcome) => {
        if (this.#model === model) this.#ready(outcome);
      },
      broken: (reason) => {
        if (this.#model === model) this.#broken(reason);
      },
    });
    this.#model = model;
    return model;
  }

  #ready(outcome: 'loaded' | 'embedded' | 'refused'): void {
    this.#runsQuery = false;
    if (outcome === 'embedded') {
      this.#failures = 0;
      this.#lastError = null;
    }
    this.#armIdleTimer();
    this.#pump();
  }

  #broken(reason: string): void {
    const { clock, log } = this.#options;
    this.#failures += 1;
    this.#lastError = reason;
    const backOffMs = backoffDelayMs(BACK_OFF, this.#failures - 1, 0);
    this.#retryAtMs = clock.monotonicMs() + backOffMs;
    log.error({ reason, failures: this.#failures, backOffMs }, 'the embedder failed');
    void this.#stop({ code: 'UNAVAILABLE', message: `the embedder is failing: ${reason}` });
  }

  #armIdleTimer(): void {
    this.#idleTimer?.cancel();
    this.#idleTimer = this.#options.scheduler.after(this.#options.idleMs ?? IDLE_MS, () => {
      const { queries, background } = this.queueDepth();
      if (queries + background === 0) void this.#stop(SHUTTING_DOWN);
    });
  }

  /** Ends the model and fails all open calls. */
  async #stop(failure: Failure): Promise<void> {
    const model = this.#model;
    this.#model = null;
    this.#runsQuery = false;
    this.#idleTimer?.cancel();
    this.#idleTimer = null;
    for (const job of [...(model?.jobs ?? []), ...this.#queue.drain()]) job.settle(failed(failure));
    await model?.stop();
  }
}

const SHUTTING_DOWN: Failure = { code: 'SHUTTING_DOWN', message: 'the embedder is shutting down' };
