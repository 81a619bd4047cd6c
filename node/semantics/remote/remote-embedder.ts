import { BoundedMap } from '../../../protocol/base/bounded-map.js';
import {
  CACHED_QUERIES_MAX,
  EMBED_CONNECT_TIMEOUT_MS,
  EMBED_CONNECTIONS_MAX,
  EMBED_QUERIES_MAX,
  EMBED_REQUEST_CHARACTERS_MAX,
  EMBED_REQUEST_TEXTS_MAX,
  EMBED_REQUEST_TIMEOUT_MS,
  EMBED_RESPONSE_BYTES_MAX,
  SERVICE_EMBED_WAIT_MS,
} from '../../../protocol/base/limits.js';
import { type Failure, fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import type { Clock, Log, Scheduler } from '../../../protocol/base/seams.js';
import type { Secret } from '../../config/secret.js';
import { CircuitBreaker } from '../../outbound/circuit-breaker.js';
import { OutboundClient, type Posted } from '../../outbound/outbound-client.js';
import { chunkQuery } from '../chunking.js';
import type { Embedder, EmbedderDepth, EmbedderInput, EmbedderState } from '../embedder.js';
import type { Prefixes } from './known-models.js';
import type { WireShape } from './wire-shapes.js';

/** A service that makes vectors, and how it is asked. */
export interface RemoteEmbedderOptions {
  /** The name under which its vectors are stored. */
  readonly name: string;
  readonly shape: WireShape;
  readonly baseUrl: string;
  /** Passed through as it is. */
  readonly model: string;
  readonly dim: number;
  readonly windowTokens: number;
  readonly prefixes: Prefixes;
  /** Sent as a bearer token; null sends none. */
  readonly key: Secret | null;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly log: Log;
  /** For tests; 30 seconds by default. */
  readonly timeoutMs?: number;
}

/** Statuses with which a service refuses the texts themselves, not the request. */
const TEXT_REFUSED: ReadonlySet<number> = new Set([400, 413, 422]);
/** The rest after a 429 that names none. */
const RATE_LIMIT_REST_MS = 5000;
/** A text that every service takes. */
const PROBE = 'Does the service embed this sentence?';
const SHUTTING_DOWN: Failure = { code: 'SHUTTING_DOWN', message: 'the embedder is shutting down' };

/**
 * An embedder behind HTTP (interface §2.12). A failing service costs callers nothing: after three failures in a row
 * calls are refused for 30 seconds, then one tries. Its texts are never logged, nor what it answers.
 */
export class RemoteEmbedder implements Embedder {
  readonly model: string;
  readonly dim: number;
  readonly input: EmbedderInput;
  readonly queryWaitMs = SERVICE_EMBED_WAIT_MS;
  readonly #options: RemoteEmbedderOptions;
  readonly #client: OutboundClient;
  readonly #endpoint: URL;
  readonly #breaker: CircuitBreaker;
  readonly #cache = new BoundedMap<string, Float32Array>(CACHED_QUERIES_MAX);
  /** Questions under way, so that equal ones are asked once. */
  readonly #asking = new Map<string, Promise<Result<Float32Array>>>();
  #background = 0;
  #answered = false;
  #closed = false;

  constructor(options: RemoteEmbedderOptions) {
    this.model = options.name;
    this.dim = options.dim;
    this.input = { windowTokens: options.windowTokens };
    this.#options = options;
    this.#breaker = new CircuitBreaker(options.clock);
    this.#endpoint = options.shape.endpoint(new URL(options.baseUrl));
    this.#client = new OutboundClient({
      ...{ scheduler: options.scheduler, timeoutMs: options.timeoutMs ?? EMBED_REQUEST_TIMEOUT_MS },
      ...{ connectTimeoutMs: EMBED_CONNECT_TIMEOUT_MS, connectionsMax: EMBED_CONNECTIONS_MAX },
      answerBytesMax: EMBED_RESPONSE_BYTES_MAX,
    });
  }

  async embed(texts: readonly string[]): Promise<Result<Float32Array[]>> {
    if (this.#closed) return failed(SHUTTING_DOWN);
    if (texts.some((text) => text.trim() === '')) return fail('INVALID_ARGUMENT', 'blank text has no vector');
    const vectors: Float32Array[] = [];
    this.#background += texts.length;
    try {
      for (const batch of batchesOf(texts)) {
        const { text: prefix } = this.#options.prefixes;
        const outcome = await this.#send(batch.map((text) => prefix + text));
        if (!outcome.ok) return await this.#judged(outcome);
        vectors.push(...outcome.value);
      }
      return ok(vectors);
    } finally {
      this.#background -= texts.length;
    }
  }

  async embedQuery(text: string, deadlineMs: number): Promise<Result<Float32Array>> {
    if (this.#closed) return failed(SHUTTING_DOWN);
    const chunking = chunkQuery(text, this.input);
    if (!chunking.ok) return fail('INVALID_ARGUMENT', 'the text has no letters', { reason: chunking.reason });
    const query = chunking.windows[0]!;
    const cached = this.#cache.use(query);
    if (cached !== undefined) return ok(cached);
    const { clock, scheduler } = this.#options;
    const late = fail('DEADLINE', 'the embedder did not answer in time');
    const remainingMs = deadlineMs - clock.monotonicMs();
    if (remainingMs <= 0) return late;
    if (this.#asking.size >= EMBED_QUERIES_MAX) {
      return fail('OVERLOADED', `${EMBED_QUERIES_MAX} queries wait for the embedder`);
    }
    const asked = this.#asking.get(query) ?? this.#ask(query);
    return await new Promise((resolve) => {
      const timer = scheduler.after(remainingMs, () => {
        this.#breaker.late(`no answer to a query in ${Math.round(remainingMs)} ms`);
        resolve(late);
      });
      void asked.then((outcome) => {
        timer.cancel();
        resolve(outcome);
      });
    });
  }

  state(): EmbedderState {
    const { lastError } = this.#breaker;
    return {
      loaded: this.#answered && lastError === null && !this.#closed,
      failing: lastError !== null,
      lastError,
    };
  }

  queueDepth(): EmbedderDepth {
    return { queries: Math.max(0, this.#asking.size - EMBED_CONNECTIONS_MAX), background: this.#background };
  }

  async warm(): Promise<void> {
    if (!this.#closed) await this.#send([PROBE]);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#client.close();
    await Promise.all(this.#asking.values());
  }

  /** Asks on after the caller gave up: the vector serves the next call. */
  #ask(query: string): Promise<Result<Float32Array>> {
    const asked = this.#send([this.#options.prefixes.query + query]).then((outcome) => {
      this.#asking.delete(query);
      if (!outcome.ok) return this.#refusedQuery(outcome);
      this.#cache.set(query, outcome.value[0]!);
      return ok(outcome.value[0]!);
    });
    this.#asking.set(query, asked);
    return asked;
  }

  /** A query is a plain sentence: a service that refuses it refuses everything. */
  #refusedQuery(outcome: Result<Float32Array[]>): Result<Float32Array> {
    if (outcome.ok) throw new Error('only failures are refused');
    if (outcome.error.code !== 'INVALID_ARGUMENT') return failed(outcome.error);
    return this.#unavailable(outcome.error.message);
  }

  /** Whether texts were refused for themselves: then the service takes another text. */
  async #judged(outcome: Result<Float32Array[]>): Promise<Result<Float32Array[]>> {
    if (outcome.ok || outcome.error.code !== 'INVALID_ARGUMENT') return outcome;
    const probe = await this.#send([PROBE]);
    if (probe.ok) return outcome;
    return probe.error.code === 'INVALID_ARGUMENT' ? this.#unavailable(outcome.error.message) : probe;
  }

  async #send(texts: readonly string[]): Promise<Result<Float32Array[]>> {
    if (this.#closed) return failed(SHUTTING_DOWN);
    if (!this.#breaker.admits()) {
      return fail('UNAVAILABLE', `the embedder is failing: ${this.#breaker.lastError}`);
    }
    const { shape, model } = this.#options;
    const body = JSON.stringify(shape.body(model, texts));
    const posted = await this.#client.post(this.#endpoint.href, { headers: this.#headers(), body });
    if (this.#closed) return failed(SHUTTING_DOWN);
    return this.#outcomeOf(posted, texts.length);
  }

  #outcomeOf(posted: Posted, count: number): Result<Float32Array[]> {
    if (posted.kind === 'status' && posted.status >= 400) return this.#refused(posted);
    if (posted.kind !== 'answer') return this.#unavailable(this.#problemOf(posted));
    const found = this.#options.shape.vectors(parsed(posted.text));
    if (found === null || found.length !== count) {
      return this.#unavailable('the answer is not one vector for each text: check base_url and backend');
    }
    const wrong = found.find(({ length }) => length !== this.dim);
    if (wrong !== undefined) {
      return this.#unavailable(
        `the model answers ${wrong.length} dimensions, not ${this.dim}: set [embeddings] dim = ${wrong.length}`,
      );
    }
    const vectors = found.map(unit);
    this.#recovered();
    if (vectors.includes(null))
      return fail('INVALID_ARGUMENT', 'the model answers a vector without a direction');
    return ok(vectors as Float32Array[]);
  }

  #problemOf(posted: Exclude<Posted, { kind: 'answer' }>): string {
    const { host } = this.#endpoint;
    switch (posted.kind) {
      case 'status':
        return `${host} redirects, which is refused`;
      case 'late':
        return `${host} did not answer in ${this.#options.timeoutMs ?? EMBED_REQUEST_TIMEOUT_MS} ms`;
      case 'too-large':
        return `${host}: the answer is larger than ${EMBED_RESPONSE_BYTES_MAX / 1024 / 1024} MiB`;
      case 'refused':
        return `${host}: the ${posted.by} is refused`;
      case 'failed':
        return `${host}: ${posted.reason}`;
    }
  }

  #refused({ status, retryAfterMs }: Extract<Posted, { kind: 'status' }>): Result<never> {
    if (TEXT_REFUSED.has(status)) {
      this.#breaker.settled();
      return fail('INVALID_ARGUMENT', `the embedding service refuses the text (${status})`);
    }
    const why: Readonly<Record<number, string>> = {
      401: 'refuses the key (401)',
      403: 'refuses the key (403)',
      404: 'has no such endpoint or model (404)',
      429: 'asks for a pause (429)',
    };
    const rest = status === 429 ? (retryAfterMs ?? RATE_LIMIT_REST_MS) : retryAfterMs;
    return this.#unavailable(`the embedding service ${why[status] ?? `answers ${status}`}`, rest);
  }

  #unavailable(reason: string, restMs: number | null = null): Result<never> {
    const { log, name } = this.#options;
    const isNew = this.#breaker.lastError !== reason;
    const opened = this.#breaker.failed(reason, restMs);
    if (isNew)
      log.error({ model: name, reason, resting: opened }, 'the embedder failed; recall goes on by words');
    return fail('UNAVAILABLE', `the embedder is failing: ${reason}`);
  }

  #recovered(): void {
    const { log, name } = this.#options;
    if (this.#breaker.lastError !== null) log.info({ model: name }, 'the embedder answers again');
    this.#breaker.succeeded();
    this.#answered = true;
  }

  #headers(): Readonly<Record<string, string>> {
    const { key } = this.#options;
    const json = { 'content-type': 'application/json', accept: 'application/json' };
    return key === null ? json : { ...json, authorization: `Bearer ${key.reveal()}` };
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Batches of texts that one request may carry. */
function* batchesOf(texts: readonly string[]): Generator<readonly string[]> {
  let batch: string[] = [];
  let characters = 0;
  for (const text of texts) {
    const isFull =
      batch.length === EMBED_REQUEST_TEXTS_MAX || characters + text.length > EMBED_REQUEST_CHARACTERS_MAX;
    if (batch.length > 0 && isFull) {
      yield batch;
      batch = [];
      characters = 0;
    }
    batch.push(text);
    characters += text.length;
  }
  if (batch.length > 0) yield batch;
}

/** The vector with length 1; null for one without a direction. */
function unit(values: readonly number[]): Float32Array | null {
  const length = Math.hypot(...values);
  if (!(length > 0 && length < Number.POSITIVE_INFINITY)) return null;
  return Float32Array.from(values, (value) => value / length);
}
