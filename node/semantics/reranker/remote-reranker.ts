import { z } from 'zod';
import {
  RERANK_CONNECT_TIMEOUT_MS,
  RERANK_REQUESTS_MAX,
  RERANK_RESPONSE_BYTES_MAX,
} from '../../../protocol/base/model-limits.js';
import type { Clock, Log, Scheduler } from '../../../protocol/base/seams.js';
import type { Secret } from '../../config/secret.js';
import { CircuitBreaker } from '../../outbound/circuit-breaker.js';
import { OutboundClient, type Posted } from '../../outbound/outbound-client.js';
import { under } from '../../outbound/under.js';
import { type RerankAbsence, type Reranker, type RerankerState, relevancesOf } from './reranker.js';

/** A service that scores texts, and how it is asked. */
export interface RemoteRerankerOptions {
  readonly baseUrl: URL;
  /** Passed through as it is. */
  readonly model: string;
  /** Sent as a bearer token; null sends none. */
  readonly key: Secret | null;
  readonly timeoutMs: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly scheduler: Scheduler;
  readonly log: Log;
  /** Hears of each request that was sent. */
  readonly onRequest: (outcome: 'ok' | 'failed', ms: number) => void;
}

const reranked = z.object({
  results: z.array(z.object({ index: z.int().min(0), relevance_score: z.number() })),
});

/** The rest after a 429 that names none. */
const RATE_LIMIT_REST_MS = 5000;

const STATUS_WORDS: Readonly<Record<number, string>> = {
  401: 'refuses the key (401)',
  403: 'refuses the key (403)',
  404: 'has no such endpoint or model (404)',
};

/**
 * A reranker behind HTTP: `POST /rerank` of the compatible shape. A failing or slow service costs recalls nothing: after three
 * failures in a row it is not asked for 30 seconds, then one recall tries. Texts and answers are never logged.
 */
export class RemoteReranker implements Reranker {
  readonly #options: RemoteRerankerOptions;
  readonly #client: OutboundClient;
  readonly #endpoint: URL;
  readonly #breaker: CircuitBreaker;
  readonly #closing = new AbortController();
  #asking = 0;

  constructor(options: RemoteRerankerOptions) {
    this.#options = options;
    this.#breaker = new CircuitBreaker(options.clock);
    this.#endpoint = under(options.baseUrl, '/rerank', '/v1');
    this.#client = new OutboundClient({
      ...{ scheduler: options.scheduler, timeoutMs: options.timeoutMs },
      ...{ connectTimeoutMs: RERANK_CONNECT_TIMEOUT_MS, connectionsMax: RERANK_REQUESTS_MAX },
      answerBytesMax: RERANK_RESPONSE_BYTES_MAX,
    });
  }

  async relevances(
    query: string,
    documents: readonly string[],
    deadlineMs: number,
  ): Promise<readonly number[] | RerankAbsence> {
    const { clock, model } = this.#options;
    if (this.#closing.signal.aborted) return 'failing';
    if (deadlineMs <= clock.monotonicMs()) return 'late';
    if (this.#asking >= RERANK_REQUESTS_MAX) return 'busy';
    if (!this.#breaker.admits()) return 'failing';
    this.#asking += 1;
    const startMs = clock.monotonicMs();
    try {
      const body = JSON.stringify({ model, query, documents, top_n: documents.length });
      const outcome = await this.#post(body, documents.length, deadlineMs - startMs);
      const ms = clock.monotonicMs() - startMs;
      this.#options.onRequest(typeof outcome === 'string' ? 'failed' : 'ok', ms);
      return outcome;
    } finally {
      this.#asking -= 1;
    }
  }

  state(): RerankerState {
    const { lastError } = this.#breaker;
    return { enabled: true, failing: lastError !== null, lastError, model: this.#options.model };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#client.close();
  }

  async #post(body: string, count: number, withinMs: number): Promise<readonly number[] | RerankAbsence> {
    const { scheduler } = this.#options;
    const given = new AbortController();
    const giveUp = () => given.abort();
    const timer = scheduler.after(withinMs, giveUp);
    this.#closing.signal.addEventListener('abort', giveUp, { once: true });
    try {
      const headers = this.#headers();
      const posted = await this.#client.post(this.#endpoint.href, { headers, body }, given.signal);
      return this.#outcomeOf(posted, count, given.signal.aborted);
    } finally {
      timer.cancel();
      this.#closing.signal.removeEventListener('abort', giveUp);
    }
  }

  #outcomeOf(posted: Posted, count: number, isGivenUp: boolean): readonly number[] | RerankAbsence {
    if (posted.kind === 'answer') return this.#answered(posted.text, count);
    if (isGivenUp) {
      this.#breaker.abandoned(`${this.#endpoint.host} did not answer in time`);
      return 'late';
    }
    if (posted.kind === 'status' && posted.status === 429) {
      this.#failed('asks for a pause (429)', posted.retryAfterMs ?? RATE_LIMIT_REST_MS);
      return 'busy';
    }
    this.#failed(this.#problemOf(posted), posted.kind === 'status' ? posted.retryAfterMs : null);
    return posted.kind === 'late' ? 'late' : 'failing';
  }

  #answered(text: string, count: number): readonly number[] | RerankAbsence {
    const scores = scoresOf(text, count);
    if (scores === null) {
      this.#failed('answers no score for each text: check reranker.base_url', null);
      return 'failing';
    }
    const { log, model } = this.#options;
    if (this.#breaker.lastError !== null) log.info({ model }, 'the reranker answers again');
    this.#breaker.succeeded();
    return relevancesOf(scores);
  }

  #problemOf(posted: Exclude<Posted, { kind: 'answer' }>): string {
    switch (posted.kind) {
      case 'status':
        if (posted.status < 400) return 'redirects, which is refused';
        return STATUS_WORDS[posted.status] ?? `answers ${posted.status}`;
      case 'late':
        return `did not answer in ${this.#options.timeoutMs} ms`;
      case 'too-large':
        return `answers more than ${RERANK_RESPONSE_BYTES_MAX / 1024} KiB`;
      case 'refused':
        return `cannot be asked: the ${posted.by} is refused`;
      case 'failed':
        return `cannot be asked: ${posted.reason}`;
    }
  }

  #failed(what: string, restMs: number | null): void {
    const { log, model } = this.#options;
    const reason = `${this.#endpoint.host} ${what}`;
    const isNew = this.#breaker.lastError !== reason;
    const resting = this.#breaker.failed(reason, restMs);
    if (isNew) log.warn({ model, reason, resting }, 'the reranker failed; recall keeps its own order');
  }

  #headers(): Readonly<Record<string, string>> {
    const { key } = this.#options;
    const json = { 'content-type': 'application/json', accept: 'application/json' };
    return key === null ? json : { ...json, authorization: `Bearer ${key.reveal()}` };
  }
}

/** The scores in the order of the texts; null unless each text has exactly one. */
function scoresOf(text: string, count: number): readonly number[] | null {
  const read = reranked.safeParse(parsed(text));
  if (!read.success || read.data.results.length !== count) return null;
  const scores = new Map(read.data.results.map(({ index, relevance_score: score }) => [index, score]));
  const inOrder = Array.from({ length: count }, (_, index) => scores.get(index));
  return inOrder.every((score) => score !== undefined) ? inOrder : null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
