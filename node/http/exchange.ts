import type { IncomingMessage, ServerResponse } from 'node:http';
import { ERRORS } from '../../protocol/base/errors.js';
import { ANSWER_SMALL_BYTES_MAX, REQUEST_BODY_BYTES_MAX } from '../../protocol/base/limits.js';
import { STREAM_UNREAD_BYTES_MAX } from '../../protocol/base/mcp-limits.js';
import { type Failure, retryAfterOf } from '../../protocol/base/result.js';
import type { Compressor, Scheduler } from '../../protocol/base/seams.js';
import type { ByteSum } from './byte-sum.js';
import { acceptsGzip, type CodedBody, compress, isCompressible } from './content-coding.js';
import { EVENT_STREAM_TYPE, EventStream } from './event-stream.js';
import type { ExtraHeaders } from './headers.js';

export const JSON_TYPE = 'application/json';
const NO_HEADERS: ExtraHeaders = [];
const NO_CONTENT = 204;
/** The client has the answer already (RFC 9110 §15.4.5). */
export const NOT_MODIFIED = 304;
/** Answers that have no body, and no headers about one. */
const isBodiless = (status: number) => status === NO_CONTENT || status === NOT_MODIFIED;
const STREAMED = 200;

/** Answers that tell their client to retry (interface §7). */
const UNAVAILABLE = 503;
const isRetryable = (status: number) => status === 429 || status === UNAVAILABLE;

/** The surface's side of an exchange. */
export interface ExchangeOwner {
  readonly scheduler: Scheduler;
  readonly compressor: Compressor;
  /** Says what an answer to a page of another site has to carry. */
  readonly cors: { headers(origin: string | undefined): ExtraHeaders };
  /** True while the surface drains: the last answer that a connection is owed then ends it. */
  readonly draining: boolean;
  /** Bytes of the bodies of requests under way. */
  readonly bodies: ByteSum;
  /** Bytes of answers that have not left yet. */
  readonly answers: ByteSum;
  /** True when no later request has arrived on the same connection; only then may its answer close the connection. */
  isNewest(exchange: Exchange): boolean;
  /** The exchange has been answered, or its client is gone (status 0). */
  finished(exchange: Exchange, status: number): void;
  /** Its client has not yet taken all of the answer. */
  unsent(exchange: Exchange): void;
  /** The answer has begun and has no end yet. */
  streams(stream: EventStream): void;
}

/** One request and its answer. The first answer wins; a later one is dropped. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly startedMs: number;
  /** Operation or route, for metrics. */
  name = 'none';
  state: 'receiving' | 'running' | 'finished' = 'receiving';
  /** The connection cannot carry another request, and nothing more is read from it. */
  closes = false;
  /** True while it holds a place under the admission cap. */
  admitted = false;
  /** Watches the token that it came with, for as long as its answer goes on; absent without a token. */
  watchToken?: (end: () => void) => () => void;
  /** True when it may have changed something, so that only its own answer is true. */
  effective = false;
  readonly #owner: ExchangeOwner;
  #bodyBytes = 0;
  #answerBytes = 0;

  constructor(request: IncomingMessage, response: ServerResponse, startedMs: number, owner: ExchangeOwner) {
    this.request = request;
    this.response = response;
    this.startedMs = startedMs;
    this.#owner = owner;
  }

  /** Counts bytes of the body that are held for it; false when they are too many together with those of others. */
  holdBody(bytes: number): boolean {
    const { bodies } = this.#owner;
    if (!bodies.fits(bytes)) return false;
    bodies.add(bytes);
    this.#bodyBytes += bytes;
    return true;
  }

  /** A signal that is aborted when the connection closes before the answer has left. */
  gone(): AbortSignal {
    const controller = new AbortController();
    const { response } = this;
    if (response.destroyed) controller.abort();
    else response.once('close', () => controller.abort());
    return controller.signal;
  }

  /** The bytes of the answer have left, or its connection is closed. */
  left(): void {
    this.#owner.answers.remove(this.#answerBytes);
    this.#answerBytes = 0;
  }

  json(status: number, body: unknown): void {
    this.send(status, JSON_TYPE, JSON.stringify(body));
  }

  /**
   * The error envelope, `{error, code, …details}` (interface §7). A detail `retry_after_secs` says when a refused
   * request may be repeated; otherwise 429 and 503 say 1, except for a quota that is not renewed daily.
   */
  fail(failure: Failure, headers: ExtraHeaders = NO_HEADERS): void {
    const { code, message, details } = failure;
    const envelope = { error: message, code };
    // Details stand between them for readability; they cannot change the envelope.
    const body = details === undefined ? envelope : { ...envelope, ...details, ...envelope };
    const { http } = ERRORS[code];
    // Waiting does not free bytes in a full store.
    const after = retryAfterOf(failure) ?? (code === 'QUOTA_EXCEEDED' ? null : 1);
    const extra = isRetryable(http) && after !== null ? [...headers, 'retry-after', String(after)] : headers;
    this.send(http, JSON_TYPE, JSON.stringify(body), extra);
  }

  /** Answers; the body is compressed when the client takes gzip and it is large enough (interface §4). */
  send(status: number, contentType: string, body: string, extra: ExtraHeaders = NO_HEADERS): void {
    if (this.state === 'finished') return;
    const bytes = Buffer.from(body);
    if (!this.#holdAnswer(bytes.length)) {
      this.fail(tooManyUnsent(this.#owner.answers.max));
      return;
    }
    this.#finish();
    const coded: CodedBody = { bytes, gzipped: false };
    if (!isCompressible(contentType, bytes.length)) this.#answer(status, contentType, coded, false, extra);
    else if (!acceptsGzip(this.#acceptEncoding())) this.#answer(status, contentType, coded, true, extra);
    else {
      compress(bytes, this.#owner.compressor, (chosen) => {
        this.#answer(status, contentType, chosen, true, extra);
      });
    }
  }

  /** Counts the bytes of the answer until they have left; false when they are too many. */
  #holdAnswer(bytes: number): boolean {
    if (bytes <= ANSWER_SMALL_BYTES_MAX) return true;
    const { answers } = this.#owner;
    if (!this.effective && !answers.fits(bytes)) return false;
    answers.add(bytes);
    this.#answerBytes = bytes;
    return true;
  }

  /**
   * Begins an answer without an end; the exchange itself is over, for deadlines and the admission cap. One that answers
   * the request ends by itself, and keeps its place under the cap until then. It is never compressed. Null when it was
   * answered already, or its client is gone.
   */
  stream(contentType: string, extra: ExtraHeaders = NO_HEADERS, answers = false): EventStream | null {
    if (this.state === 'finished') return null;
    if (this.#owner.draining) {
      this.fail({ code: 'SHUTTING_DOWN', message: 'this node is shutting down' });
      return null;
    }
    this.#finish();
    const { request, response } = this;
    if (answers && !response.destroyed) response.once('close', () => this.#owner.finished(this, STREAMED));
    else this.#owner.finished(this, STREAMED);
    if (response.destroyed) return null;
    const headers = [
      'content-type',
      contentType,
      'cache-control',
      'no-store',
      'x-content-type-options',
      'nosniff',
      ...extra,
    ];
    // Proxies that gather an answer before they pass it on would keep events back.
    headers.push('x-accel-buffering', 'no');
    if (!answers || this.closes) headers.push('connection', 'close');
    const { origin } = request.headers;
    if (origin !== undefined) headers.push('vary', 'origin', ...this.#owner.cors.headers(origin));
    response.writeHead(STREAMED, headers);
    const stream = new EventStream(response);
    if (this.watchToken !== undefined) stream.onClose(this.watchToken(() => stream.destroy()));
    if (request.method === 'HEAD') response.end();
    else if (!answers) this.#owner.streams(stream);
    return stream;
  }

  /** Answers with events as they come. A client that leaves too many of them unread loses its connection. */
  async pipe(
    events: ReadableStream<Uint8Array>,
    extra: ExtraHeaders,
    { answers }: { readonly answers: boolean },
  ): Promise<void> {
    const reader = events.getReader();
    const stream = this.stream(EVENT_STREAM_TYPE, extra, answers);
    if (stream === null) return reader.cancel();
    stream.onClose(() => void reader.cancel());
    const { answers: unsent } = this.#owner;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const held = answers ? 0 : stream.unread();
      if (unsent.fits(value.length) && held <= STREAM_UNREAD_BYTES_MAX) stream.write(value, unsent);
      else stream.destroy();
    }
    stream.end();
    if (this.request.socket.writableLength > 0) this.#owner.unsent(this);
  }

  #finish(): void {
    this.state = 'finished';
    this.#owner.bodies.remove(this.#bodyBytes);
    this.#bodyBytes = 0;
  }

  #acceptEncoding(): string | undefined {
    const header = this.request.headers['accept-encoding'];
    return typeof header === 'string' ? header : undefined;
  }

  #answer(
    status: number,
    contentType: string,
    { bytes, gzipped }: CodedBody,
    varies: boolean,
    extra: ExtraHeaders,
  ): void {
    const { request, response } = this;
    this.#owner.finished(this, status);
    if (response.destroyed) {
      this.left();
      return;
    }
    const refusesRest = !this.closes && !request.complete && !isSmall(request);
    const headers: string[] = contentType === '' ? [] : ['content-type', contentType];
    if (!isBodiless(status)) headers.push('content-length', String(bytes.length));
    if (!extra.includes('cache-control')) headers.push('cache-control', 'no-store');
    headers.push('x-content-type-options', 'nosniff', ...extra);
    if (gzipped) headers.push('content-encoding', 'gzip');
    const { origin } = request.headers;
    if (origin === undefined) {
      if (varies) headers.push('vary', 'accept-encoding');
    } else {
      headers.push(
        'vary',
        varies ? 'accept-encoding, origin' : 'origin',
        ...this.#owner.cors.headers(origin),
      );
    }
    if (status === UNAVAILABLE && !extra.includes('retry-after')) headers.push('retry-after', '1');
    const ends = (this.closes || this.#owner.draining) && this.#owner.isNewest(this);
    if (refusesRest || ends) headers.push('connection', 'close');
    response.writeHead(status, headers);
    response.end(bytes);
    if (request.socket.writableLength > 0) this.#owner.unsent(this);
  }

  /** The client left before it was answered. */
  abandon(): void {
    if (this.state === 'finished') return;
    this.#finish();
    this.#owner.finished(this, 0);
  }
}

const tooManyUnsent = (bytesMax: number): Failure => ({
  code: 'OVERLOADED',
  message: `answers that clients have not read yet hold ${bytesMax} bytes: read them, then ask again`,
});

/** True when the rest of a body is so small that receiving it costs less than a new connection. */
function isSmall(request: IncomingMessage): boolean {
  const announced = request.headers['content-length'];
  if (announced === undefined) return request.headers['transfer-encoding'] === undefined;
  return Number(announced) <= REQUEST_BODY_BYTES_MAX;
}
