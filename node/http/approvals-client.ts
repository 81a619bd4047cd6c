import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { type BackoffPolicy, backoffDelayMs } from '../../actors/core/backoff.js';
import { ERRORS, type ErrorCode } from '../../protocol/base/errors.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { Random, Scheduler, Timer } from '../../protocol/base/seams.js';
import { API_PREFIX } from '../bindings/operation-route.js';

type Body = Readonly<Record<string, unknown>>;

export interface ApprovalsClientParts {
  /** Where the node listens. */
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly scheduler: Scheduler;
  readonly random: Pick<Random, 'unit'>;
}

/** An event of `GET /approvals/stream`. */
export interface StreamedEvent {
  readonly id: string | null;
  readonly data: Body;
}

const BACKOFF: BackoffPolicy = { initialMs: 500, maxMs: 15_000, jitter: 0.5, stableMs: 30_000 };
/** A stream without a keepalive for this long is broken. */
const SILENT_MS = 40_000;
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;

/** A client of another node's approvals: it asks, and follows the stream over every break of the connection. */
export class ApprovalsClient {
  #lastEventId: string | null = null;
  #attempt = 0;
  #following: ClientRequest | null = null;
  #timer: Timer | null = null;
  #stopped = false;

  constructor(private readonly parts: ApprovalsClientParts) {}

  /** UNAVAILABLE when the node does not answer; otherwise its own failure. */
  async ask(method: 'GET' | 'POST', path: string, body?: Body): Promise<Result<Body>> {
    const answered = await this.#open(method, path, { accept: 'application/json' }, body);
    if (!answered.ok) return answered;
    return readAnswer(answered.value);
  }

  /** Calls back when the stream is open first, and with each event until it is stopped. Resolves with a failure that coming back does not mend. */
  async follow(onEvent: (event: StreamedEvent) => void, onOpen: () => void): Promise<Result<null>> {
    let isFirst = true;
    for (; !this.#stopped; isFirst = false) {
      const last = this.#lastEventId;
      const headers = { accept: 'text/event-stream', ...(last === null ? {} : { 'last-event-id': last }) };
      const opened = await this.#open('GET', '/approvals/stream', headers);
      if (opened.ok && opened.value.statusCode === 200) {
        this.#attempt = 0;
        if (isFirst) onOpen();
        await this.#read(opened.value, onEvent);
      } else {
        const refused = opened.ok ? await readAnswer(opened.value) : opened;
        const isFinal = !refused.ok && ERRORS[refused.error.code].http < 500;
        if (!refused.ok && (isFirst || isFinal)) return failed(refused.error);
      }
      await this.#pause();
    }
    return ok(null);
  }

  stop(): void {
    this.#stopped = true;
    this.#following?.destroy();
    this.#timer?.cancel();
    this.#wake();
  }

  #wake: () => void = () => undefined;

  #pause(): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    const delayMs = backoffDelayMs(BACKOFF, this.#attempt, this.parts.random.unit());
    this.#attempt += 1;
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#timer = this.parts.scheduler.after(delayMs, resolve, { keepAlive: true });
    });
  }

  #open(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    body?: Body,
  ): Promise<Result<IncomingMessage>> {
    const { url, headers: own } = this.parts;
    const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const sent = body === undefined ? {} : { 'content-type': 'application/json' };
    return new Promise((resolve) => {
      const asking = request(new URL(`${API_PREFIX}${path}`, url), {
        method,
        headers: { ...own, ...headers, ...sent },
        agent: false,
        timeout: SILENT_MS,
      });
      asking.on('response', (response) => resolve(ok(response)));
      asking.on('timeout', () => asking.destroy(new Error('no answer')));
      asking.on('error', (error: NodeJS.ErrnoException) =>
        resolve(fail('UNAVAILABLE', `${url.origin} does not answer: ${error.code ?? error.message}`)),
      );
      if (path.endsWith('/stream')) this.#following = asking;
      asking.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  #read(response: IncomingMessage, onEvent: (event: StreamedEvent) => void): Promise<void> {
    let text = '';
    response.setEncoding('utf8');
    response.on('data', (piece: string) => {
      const blocks = (text + piece).split('\n\n');
      text = blocks.pop()!;
      for (const block of blocks) this.#take(block, onEvent);
    });
    return new Promise((resolve) => {
      response.on('error', () => resolve());
      response.on('close', () => resolve());
    });
  }

  #take(block: string, onEvent: (event: StreamedEvent) => void): void {
    const field = (name: string) =>
      block
        .split('\n')
        .filter((line) => line.startsWith(`${name}: `))
        .map((line) => line.slice(name.length + 2));
    const id = field('id').at(-1) ?? null;
    if (id !== null) this.#lastEventId = id;
    const data = field('data').join('\n');
    if (data !== '') onEvent({ id, data: JSON.parse(data) as Body });
  }
}

async function readAnswer(response: IncomingMessage): Promise<Result<Body>> {
  let text = '';
  response.setEncoding('utf8');
  try {
    for await (const piece of response) {
      text += piece;
      if (text.length > ANSWER_BYTES_MAX) return fail('UNAVAILABLE', 'the answer of the node is too large');
    }
    const body = JSON.parse(text) as Body;
    const { code, error } = body;
    if ((response.statusCode ?? 0) < 300) return ok(body);
    const known =
      typeof code === 'string' && Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : 'UNAVAILABLE';
    return fail(known, String(error));
  } catch {
    return fail('UNAVAILABLE', `the node answered ${response.statusCode} without JSON`);
  }
}
