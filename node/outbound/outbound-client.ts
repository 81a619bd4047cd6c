import { setMaxListeners } from 'node:events';
import { isIP, type LookupFunction } from 'node:net';
import { Pool } from 'undici';
import type { Scheduler } from '../../protocol/base/seams.js';
import { hostOf } from './address-guard.js';
import { type Addresses, type GuardedAddresses, TargetRefused } from './guarded-addresses.js';

/** What became of a request. Nothing of it holds a header, a body that was sent, or the query of the address. */
export type Posted =
  | { readonly kind: 'answer'; readonly text: string }
  /** The answer is longer than was permitted. */
  | { readonly kind: 'too-large' }
  /** Another status than 200 to 299; `retryAfterMs` is the wait that was asked for, null when none was. */
  | { readonly kind: 'status'; readonly status: number; readonly retryAfterMs: number | null }
  | { readonly kind: 'refused'; readonly by: TargetRefused['by'] }
  | { readonly kind: 'late' }
  | { readonly kind: 'failed'; readonly reason: string };

export interface OutboundOptions {
  readonly scheduler: Scheduler;
  /** For one request as a whole. */
  readonly timeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly connectionsMax: number;
  readonly answerBytesMax: number;
  /** Checks every address, and the connection goes to the one that was checked; absent for hosts that the operator configured. */
  readonly guard?: GuardedAddresses;
  /** Certificates that are trusted instead of the public ones, PEM; for tests. */
  readonly authorities?: readonly string[];
}

export interface OutboundRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Longer waits that a service asks for are cut. */
const RETRY_AFTER_MS_MAX = 300_000;

/**
 * Posts to one host at a time over kept connections: it follows no redirect, uses no proxy, keeps no cookies, and has one
 * timer for the whole request and a bound for the answer.
 */
export class OutboundClient {
  readonly #options: OutboundOptions;
  #target: string | null = null;
  #pool: Pool | null = null;

  constructor(options: OutboundOptions) {
    this.#options = options;
  }

  /** Never rejects; ends when the signal says so. */
  async post(url: string, request: OutboundRequest, stopping?: AbortSignal): Promise<Posted> {
    const { scheduler, timeoutMs } = this.#options;
    const controller = new AbortController();
    // Each request that is under way listens to them, so their number is no leak.
    setMaxListeners(0, controller.signal, ...(stopping === undefined ? [] : [stopping]));
    let isLate = false;
    const abort = () => controller.abort();
    const expire = () => {
      isLate = true;
      abort();
    };
    const timer = scheduler.after(timeoutMs, expire, { keepAlive: true });
    stopping?.addEventListener('abort', abort, { once: true });
    const ended = new Promise<never>((_resolve, reject) => {
      controller.signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
    });
    try {
      return await Promise.race([this.#attempt(url, request, controller.signal), ended]);
    } catch (error) {
      // Ends what is still under way.
      abort();
      if (error instanceof TargetRefused) return { kind: 'refused', by: error.by };
      return isLate ? { kind: 'late' } : { kind: 'failed', reason: reasonOf(error) };
    } finally {
      timer.cancel();
      stopping?.removeEventListener('abort', abort);
    }
  }

  /** Closes the connections. Requests in flight fail; a later request opens a new connection. */
  async close(): Promise<void> {
    const pool = this.#pool;
    this.#target = null;
    this.#pool = null;
    await pool?.destroy().catch(() => undefined);
  }

  async #attempt(url: string, request: OutboundRequest, signal: AbortSignal): Promise<Posted> {
    const target = new URL(url);
    const { guard } = this.#options;
    const kept = this.#target === url ? this.#pool : null;
    // Requests that begin together share what the first one made.
    if (guard === undefined)
      return this.#send(kept ?? this.#keep(url, this.#poolTo(target, null)), target, request, signal);
    if (kept !== null) {
      try {
        return await this.#send(kept, target, request, signal);
      } catch (error) {
        // The receiver may have closed it after the request before.
        if (signal.aborted) throw error;
      }
    }
    const addresses = await guard.of(target, signal);
    return this.#send(this.#keep(url, this.#poolTo(target, addresses)), target, request, signal);
  }

  #keep(url: string, pool: Pool): Pool {
    void this.close();
    this.#target = url;
    this.#pool = pool;
    return pool;
  }

  async #send(
    pool: Pool,
    { pathname, search }: URL,
    { headers, body }: OutboundRequest,
    signal: AbortSignal,
  ): Promise<Posted> {
    const answer = await pool.request({
      method: 'POST',
      path: `${pathname}${search}`,
      headers,
      body,
      signal,
    });
    const { statusCode: status } = answer;
    if (status < 200 || status > 299) {
      // Not read: the reason may quote what was sent.
      await answer.body.dump();
      return { kind: 'status', status, retryAfterMs: retryAfterOf(answer.headers['retry-after']) };
    }
    const text = await textOf(answer.body, this.#options.answerBytesMax);
    return text === null ? { kind: 'too-large' } : { kind: 'answer', text };
  }

  #poolTo(url: URL, addresses: Addresses | null): Pool {
    const { connectTimeoutMs, connectionsMax, authorities } = this.#options;
    return new Pool(url.origin, {
      connections: connectionsMax,
      pipelining: 1,
      // The whole request has one timer.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: {
        timeout: connectTimeoutMs,
        ...(addresses === null ? {} : pinnedTo(hostOf(url), addresses)),
        ...(authorities === undefined ? {} : { ca: [...authorities] }),
      },
    });
  }
}

/** A connection goes to the addresses that were checked, whatever the name resolves to by now. */
function pinnedTo(host: string, addresses: Addresses) {
  const [{ address, family }] = addresses;
  const lookup: LookupFunction = (_host, options, done) => {
    if (options.all === true) done(null, [...addresses]);
    else done(null, address, family);
  };
  // Whatever NODE_TLS_REJECT_UNAUTHORIZED says: a body goes to its receiver only. The name that TLS asks for has no final
  // dot (RFC 6066).
  return { lookup, rejectUnauthorized: true, ...(isIP(host) === 0 ? { servername: host } : {}) };
}

/** The body of an answer; null when it is too long. */
async function textOf(body: AsyncIterable<Uint8Array>, bytesMax: number): Promise<string | null> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > bytesMax) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

const reasonOf = (error: unknown): string => {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
};

/** Seconds as a number; a date is not read, because the clocks may differ. */
function retryAfterOf(header: string | string[] | undefined): number | null {
  const seconds = Number(Array.isArray(header) ? header[0] : header);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(RETRY_AFTER_MS_MAX, seconds * 1000) : null;
}
