import {
  MODEL_CONNECT_TIMEOUT_MS,
  MODEL_QUESTIONS_MAX,
  MODEL_RESPONSE_BYTES_MAX,
} from '../../protocol/base/model-limits.js';
import { fail, ok, type Result } from '../../protocol/base/result.js';
import type { Clock, Log, Scheduler } from '../../protocol/base/seams.js';
import { CircuitBreaker } from '../outbound/circuit-breaker.js';
import { OutboundClient, type Posted } from '../outbound/outbound-client.js';
import { CHAT_SHAPES, type ChatAnswer, type ChatRequest } from './chat-shapes.js';
import type { ChatTarget } from './chat-target.js';
import { type Ending, type EndReason, endedAs } from './ending.js';

export interface ChatClientParts {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly scheduler: Scheduler;
  readonly log: Log;
  readonly timeoutMs: number;
}

/** What became of one request. */
export type ChatOutcome =
  | { readonly kind: 'done'; readonly result: Result<ChatAnswer> }
  /** The service asks for this rest, which the caller may wait for. */
  | { readonly kind: 'pause'; readonly restMs: number; readonly result: Result<never> };

/** The rest after a 429 that names none. */
const RATE_LIMIT_REST_MS = 5000;

const STATUS_WORDS: Readonly<Record<number, string>> = {
  400: 'refuses the request (400): check the name of the model',
  401: 'refuses the key (401)',
  403: 'refuses the key (403)',
  404: 'has no such endpoint or model (404)',
};

/** Asks one chat model over HTTP. What is sent and what is answered is never logged. */
export class ChatClient {
  readonly #client: OutboundClient;
  readonly #breaker: CircuitBreaker;
  readonly #endpoint: URL;

  constructor(
    private readonly target: ChatTarget,
    private readonly parts: ChatClientParts,
  ) {
    this.#breaker = new CircuitBreaker(parts.clock);
    this.#endpoint = CHAT_SHAPES[target.shape].endpoint(target.baseUrl);
    this.#client = new OutboundClient({
      ...{ scheduler: parts.scheduler, timeoutMs: parts.timeoutMs },
      ...{ connectTimeoutMs: MODEL_CONNECT_TIMEOUT_MS, connectionsMax: MODEL_QUESTIONS_MAX },
      answerBytesMax: MODEL_RESPONSE_BYTES_MAX,
    });
  }

  get lastError(): string | null {
    return this.#breaker.lastError;
  }

  /** Null when a request may go out now; a null answer after failures is one trial, which must be sent. */
  refusal(): Result<never> | null {
    if (this.#breaker.admits()) return null;
    const waitMs = this.#breaker.waitMs();
    return fail('LLM_UNAVAILABLE', `the chat model is not asked now: ${this.#breaker.lastError}`, {
      retry_after_secs: Math.max(1, Math.ceil(waitMs / 1000)),
    });
  }

  /** The caller was admitted and sends nothing. */
  unsent(): void {
    this.#breaker.settled();
  }

  async send(request: Omit<ChatRequest, 'model'>, ending: Ending): Promise<ChatOutcome> {
    const { model, shape, takes } = this.target;
    const body = JSON.stringify(CHAT_SHAPES[shape].body({ ...request, model }, takes));
    const posted = await this.#client.post(
      this.#endpoint.href,
      { headers: this.#headers(), body },
      ending.signal,
    );
    return this.#outcomeOf(posted, ending);
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  #outcomeOf(posted: Posted, ending: Ending): ChatOutcome {
    if (posted.kind === 'answer') return this.#answered(posted.text);
    if (ending.reason !== null) return this.#ended(ending.reason);
    const { host } = this.#endpoint;
    switch (posted.kind) {
      case 'status':
        return this.#refused(posted);
      case 'late':
        return this.#unreachable(`no answer from ${host} in ${this.parts.timeoutMs / 1000} s`);
      case 'too-large':
        return this.#broken(`${host} answers more than ${MODEL_RESPONSE_BYTES_MAX / 1024 / 1024} MiB`);
      case 'refused':
        return this.#unreachable(`${host}: the ${posted.by} is refused`);
      case 'failed':
        return isCut(posted.reason)
          ? this.#broken(`${host} ended its answer early (${posted.reason})`)
          : this.#unreachable(`${host}: ${posted.reason}`);
    }
  }

  #answered(text: string): ChatOutcome {
    const answer = CHAT_SHAPES[this.target.shape].answer(parsed(text));
    if (answer === null) {
      return this.#broken(
        `the answer of ${this.#endpoint.host} is not one of the shape: check backend and base_url`,
      );
    }
    if (this.#breaker.lastError !== null)
      this.parts.log.info({ model: this.target.model }, 'the chat model answers again');
    this.#breaker.succeeded();
    return { kind: 'done', result: ok(answer) };
  }

  #refused({ status, retryAfterMs }: Extract<Posted, { kind: 'status' }>): ChatOutcome {
    const { host } = this.#endpoint;
    if (status === 429) {
      const restMs = retryAfterMs ?? RATE_LIMIT_REST_MS;
      const reason = `${host} asks for a pause (429)`;
      this.#breaker.rest(reason, restMs);
      const details = { retry_after_secs: Math.max(1, Math.ceil(restMs / 1000)) };
      return { kind: 'pause', restMs, result: fail('LLM_UNAVAILABLE', reason, details) };
    }
    if (status >= 500) return this.#broken(`${host} answers ${status}`);
    const reason =
      status < 400
        ? `${host} redirects, which is refused`
        : `${host} ${STATUS_WORDS[status] ?? `answers ${status}`}`;
    this.#breaker.settled();
    this.parts.log.warn({ model: this.target.model, reason }, 'the chat model refused a request');
    return { kind: 'done', result: fail('LLM_FAILED', reason) };
  }

  /** The caller ended it, so nothing is known of the service, except that it did not answer by then. */
  #ended(reason: EndReason): ChatOutcome {
    if (reason === 'late') this.#breaker.abandoned(`${this.#endpoint.host} does not answer in time`);
    else this.#breaker.settled();
    return { kind: 'done', result: endedAs(reason) };
  }

  #unreachable(reason: string): ChatOutcome {
    this.#failed(reason);
    return { kind: 'done', result: fail('LLM_UNAVAILABLE', `the chat model cannot be asked: ${reason}`) };
  }

  #broken(reason: string): ChatOutcome {
    this.#failed(reason);
    return { kind: 'done', result: fail('LLM_FAILED', `the chat model failed: ${reason}`) };
  }

  #failed(reason: string): void {
    const isNew = this.#breaker.lastError !== reason;
    const resting = this.#breaker.failed(reason);
    if (isNew || resting)
      this.parts.log.warn({ model: this.target.model, reason, resting }, 'the chat model failed');
  }

  #headers(): Readonly<Record<string, string>> {
    const { key } = this.target;
    const json = { 'content-type': 'application/json', accept: 'application/json' };
    return key === null ? json : { ...json, authorization: `Bearer ${key.reveal()}` };
  }
}

/** The names of errors with which a connection ends in the middle of an answer. */
const isCut = (reason: string): boolean =>
  /^(?:UND_ERR_SOCKET|UND_ERR_RES_|HPE_|terminated|aborted)|other side closed|closed before/.test(reason);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
