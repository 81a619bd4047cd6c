import type { Scheduler } from '../../protocol/base/seams.js';
import type { ClientRequest } from './request.js';

/** What one try needs besides its request. */
export interface TryOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs: number;
}

export interface Answered {
  readonly status: number;
  readonly text: string;
}

/** Nothing answered, or not in time. */
export interface Unanswered {
  readonly status: null;
  readonly reason: string;
  readonly isLate: boolean;
  /** True where the request surely did not reach the node. */
  readonly isUnsent: boolean;
  readonly cause: unknown;
}

const ANSWER_BYTES_MAX = 64 * 1024 * 1024;

/** Failures before a byte of the request was sent. */
const UNSENT: ReadonlySet<unknown> = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'],
]);

/** Sends requests to one node, and reads what it answers. */
export class Transport {
  constructor(
    private readonly parts: {
      readonly url: URL;
      readonly fetch: typeof globalThis.fetch;
      readonly scheduler: Scheduler;
    },
  ) {}

  /** One try. Rejects only with the reason of the signal. */
  async send(request: ClientRequest, { signal, timeoutMs }: TryOptions): Promise<Answered | Unanswered> {
    signal?.throwIfAborted();
    const ending = new AbortController();
    const leave = () => ending.abort(signal?.reason);
    signal?.addEventListener('abort', leave);
    let isLate = false;
    const timer = this.parts.scheduler.after(
      timeoutMs,
      () => {
        isLate = true;
        ending.abort();
      },
      { keepAlive: true },
    );
    try {
      const response = await this.#requested(request, ending.signal);
      return { status: response.status, text: await textOf(response) };
    } catch (cause) {
      signal?.throwIfAborted();
      const reason = isLate ? `no answer within ${timeoutMs / 1000} s` : reasonOf(cause);
      return { status: null, reason, isLate, isUnsent: !isLate && UNSENT.has(codeOf(cause)), cause };
    } finally {
      timer.cancel();
      signal?.removeEventListener('abort', leave);
    }
  }

  /**
   * Opens an answer without an end; the pieces of its body once it is 200, another answer as a whole. A piece that does not come within `silentMs`
   * ends it.
   */
  async open(
    request: ClientRequest,
    { signal, timeoutMs: silentMs }: TryOptions,
  ): Promise<Answered | Unanswered | AsyncGenerator<Uint8Array, void, undefined>> {
    const ending = new AbortController();
    const leave = () => ending.abort();
    signal?.addEventListener('abort', leave);
    if (signal?.aborted === true) leave();
    const left = () => {
      signal?.removeEventListener('abort', leave);
      leave();
    };
    const inTime = async <T>(coming: Promise<T>): Promise<T> => {
      const timer = this.parts.scheduler.after(silentMs, leave, { keepAlive: true });
      return coming.finally(() => timer.cancel());
    };
    try {
      const response = await inTime(this.#requested(request, ending.signal));
      if (response.status !== 200 || response.body === null) {
        const text = await inTime(textOf(response));
        left();
        return { status: response.status, text };
      }
      return pieces(response.body.getReader(), inTime, left);
    } catch (cause) {
      left();
      return { status: null, reason: reasonOf(cause), isLate: false, isUnsent: true, cause };
    }
  }

  /** Rejects with the reason of the signal when that comes first. */
  pause(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        timer.cancel();
        reject(signal!.reason);
      };
      const timer = this.parts.scheduler.after(
        delayMs,
        () => {
          signal?.removeEventListener('abort', leave);
          resolve();
        },
        { keepAlive: true },
      );
      if (signal?.aborted === true) leave();
      else signal?.addEventListener('abort', leave, { once: true });
    });
  }

  #requested({ method, path, headers, body }: ClientRequest, signal: AbortSignal): Promise<Response> {
    const { url } = this.parts;
    const address = `${url.origin}${url.pathname.replace(/\/+$/, '')}${path}`;
    // A node redirects nobody, and who does must not get the key.
    return this.parts.fetch(address, {
      method,
      headers,
      ...(body === null ? {} : { body }),
      signal,
      redirect: 'error',
    });
  }
}

async function* pieces(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  inTime: <T>(coming: Promise<T>) => Promise<T>,
  leave: () => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    for (;;) {
      const { done, value } = await inTime(reader.read());
      if (done) return;
      yield value;
    }
  } finally {
    leave();
  }
}

async function textOf(response: Response): Promise<string> {
  if (response.body === null) return '';
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  let [text, bytes] = ['', 0];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.length;
    if (bytes > ANSWER_BYTES_MAX) {
      await reader.cancel();
      throw new Error(`the answer is larger than ${ANSWER_BYTES_MAX} bytes`);
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** The code of a failed fetch, which its cause has. */
function codeOf(error: unknown): unknown {
  const { code, cause } = (error ?? {}) as { readonly code?: unknown; readonly cause?: unknown };
  return typeof code === 'string' ? code : cause === undefined ? undefined : codeOf(cause);
}

function reasonOf(error: unknown): string {
  const code = codeOf(error);
  if (typeof code === 'string') return code;
  const { cause, message } = error as {
    readonly cause?: { readonly message?: unknown };
    readonly message?: unknown;
  };
  return String(cause?.message ?? message ?? error);
}
