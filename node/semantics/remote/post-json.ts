import { Pool } from 'undici';
import {
  EMBED_CONNECT_TIMEOUT_MS,
  EMBED_CONNECTIONS_MAX,
  EMBED_REQUEST_TIMEOUT_MS,
  EMBED_RESPONSE_BYTES_MAX,
} from '../../../protocol/base/limits.js';
import type { Scheduler } from '../../../protocol/base/seams.js';

/** What became of a request. */
export type Posted =
  | { readonly kind: 'answer'; readonly body: unknown }
  /** The service refused it; `retryAfterMs` is what it asked for, null when it did not. */
  | { readonly kind: 'refused'; readonly status: number; readonly retryAfterMs: number | null }
  | { readonly kind: 'failed'; readonly message: string };

/** Longer waits that a service asks for are cut. */
const RETRY_AFTER_MS_MAX = 300_000;

/**
 * Posts JSON to one endpoint over pooled connections: only to that host, no redirect is followed, the whole request
 * has 30 seconds, and an answer at most 16 MiB. No message holds a header, a body or the query of the address.
 */
export class JsonPoster {
  readonly #pool: Pool;
  readonly #path: string;
  readonly #host: string;

  constructor(
    endpoint: URL,
    private readonly headers: () => Readonly<Record<string, string>>,
    private readonly scheduler: Scheduler,
    private readonly timeoutMs: number = EMBED_REQUEST_TIMEOUT_MS,
  ) {
    this.#host = endpoint.host;
    this.#path = `${endpoint.pathname}${endpoint.search}`;
    this.#pool = new Pool(endpoint.origin, {
      connections: EMBED_CONNECTIONS_MAX,
      pipelining: 1,
      connect: { timeout: EMBED_CONNECT_TIMEOUT_MS },
      // The whole request has one timer.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxResponseSize: EMBED_RESPONSE_BYTES_MAX,
    });
  }

  /** Never rejects. */
  async post(body: object): Promise<Posted> {
    const controller = new AbortController();
    let timedOut = false;
    const timer = this.scheduler.after(
      this.timeoutMs,
      () => {
        timedOut = true;
        controller.abort();
      },
      { keepAlive: true },
    );
    try {
      const answer = await this.#pool.request({
        method: 'POST',
        path: this.#path,
        headers: { 'content-type': 'application/json', accept: 'application/json', ...this.headers() },
        body: JSON.stringify(body),
        signal: controller.signal,
      });
      const { statusCode: status } = answer;
      if (status >= 300) {
        // Not read: the reason may quote what was sent.
        await answer.body.dump();
        if (status < 400) return { kind: 'failed', message: `${this.#host} redirects, which is refused` };
        return { kind: 'refused', status, retryAfterMs: retryAfterOf(answer.headers['retry-after']) };
      }
      return { kind: 'answer', body: parsed(await answer.body.text()) };
    } catch (error) {
      if (timedOut)
        return { kind: 'failed', message: `${this.#host} did not answer in ${this.timeoutMs} ms` };
      return { kind: 'failed', message: `${this.#host}: ${reasonOf(error)}` };
    } finally {
      timer.cancel();
    }
  }

  /** Ends the connections; requests under way fail. */
  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') {
    return `the answer is larger than ${EMBED_RESPONSE_BYTES_MAX / 1024 / 1024} MiB`;
  }
  return code ?? message;
}

/** Seconds as a number; a date is not read, because the clocks may differ. */
function retryAfterOf(header: string | string[] | undefined): number | null {
  const seconds = Number(Array.isArray(header) ? header[0] : header);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(RETRY_AFTER_MS_MAX, seconds * 1000) : null;
}
