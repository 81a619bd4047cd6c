import { createHmac } from 'node:crypto';
import { lookup as systemLookup } from 'node:dns/promises';
import { setMaxListeners } from 'node:events';
import { isIP, type LookupFunction } from 'node:net';
import { Client } from 'undici';
import type { ReceiverConnection } from '../../actors/webhooks/dispatcher.js';
import { WEBHOOK_RESPONSE_BYTES_MAX, WEBHOOK_TIMEOUT_MS } from '../../protocol/base/limits.js';
import type { Clock, Crypto, Scheduler } from '../../protocol/base/seams.js';
import type { Delivery } from '../../protocol/webhooks/queries.js';
import type { Settings } from '../config/settings.js';
import { VERSION } from '../version.js';
import { addressRefusal, hostOf, urlRefusal } from './address-guard.js';
import { Lookups, type Resolved } from './lookups.js';

export interface SenderParts {
  readonly settings: Pick<Settings, 'allowLoopbackWebhooks' | 'ssrfGuardAllowDnsFail' | 'webhookHmacSecret'>;
  readonly crypto: Pick<Crypto, 'sha256Hex'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly scheduler: Scheduler;
  /** The resolver of the system unless given. */
  readonly resolve?: (host: string) => Promise<readonly Resolved[]>;
  /** Certificates that are trusted instead of the public ones, PEM; for tests. */
  readonly authorities?: readonly string[];
  readonly timeoutMs?: number;
}

/** Why an attempt failed (reference-federation §2.3); these words stand in `last_error`. */
export type DeliveryError =
  | 'ssrf-rejected'
  | 'dns-ssrf-rejected'
  | 'no-secret'
  | 'network'
  | `http-${number}`
  | 'ack-read'
  | 'ack-decode'
  | 'ack-status'
  | 'ack-corr-mismatch';

/** The signature of a body: HMAC-SHA-256 over `<timestamp>.<body>`, keyed with the bytes of SHA-256(secret). */
export const signatureOf = (secretHash: string, timestamp: string, body: string): string =>
  `sha256=${createHmac('sha256', Buffer.from(secretHash, 'hex')).update(`${timestamp}.${body}`).digest('hex')}`;

/** A target that must not be called. */
class Refused extends Error {
  constructor(readonly why: 'ssrf-rejected' | 'dns-ssrf-rejected') {
    super(why);
  }
}

/**
 * Sends events to receivers (interface §6.1). Every resolved address is checked, and the connection goes to the address
 * that was checked. It follows no redirect, uses no proxy, and keeps no cookies, and a connection for one turn only.
 */
export class WebhookSender {
  readonly #parts: SenderParts;
  readonly #lookups: Lookups;

  constructor(parts: SenderParts) {
    this.#parts = parts;
    this.#lookups = new Lookups(parts.resolve ?? ((name) => systemLookup(name, { all: true })));
  }

  /** The connection of one turn, which events to one receiver share; it is made when the first is sent. */
  open(): ReceiverConnection {
    const line = new Line();
    return {
      send: (delivery, stopping) => this.#send(delivery, line, stopping),
      close: () => line.close(),
    };
  }

  /** Sends an event once, on a connection of its own. */
  async send(delivery: Delivery): Promise<string | null> {
    const connection = this.open();
    try {
      return await connection.send(delivery);
    } finally {
      connection.close();
    }
  }

  async #send(delivery: Delivery, line: Line, stopping?: AbortSignal): Promise<DeliveryError | null> {
    const secretHash = delivery.secretHash ?? this.#nodeSecretHash();
    if (secretHash === null) return 'no-secret';
    const controller = new AbortController();
    // Each attempt that is under way listens to them, so their number is no leak.
    setMaxListeners(0, controller.signal, ...(stopping === undefined ? [] : [stopping]));
    const abort = () => controller.abort();
    const timer = this.#parts.scheduler.after(this.#parts.timeoutMs ?? WEBHOOK_TIMEOUT_MS, abort, {
      keepAlive: true,
    });
    stopping?.addEventListener('abort', abort, { once: true });
    let error: DeliveryError | null = 'network';
    try {
      error = await Promise.race([
        this.#attempt(delivery, secretHash, line, controller.signal),
        new Promise<never>((_resolve, reject) => {
          controller.signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
        }),
      ]);
    } catch (thrown) {
      if (thrown instanceof Refused) error = thrown.why;
    } finally {
      timer.cancel();
      stopping?.removeEventListener('abort', abort);
    }
    if (error !== null) {
      // Ends what is still under way.
      abort();
      line.close();
    }
    return error;
  }

  #nodeSecretHash(): string | null {
    const { settings, crypto } = this.#parts;
    return settings.webhookHmacSecret === null ? null : crypto.sha256Hex(settings.webhookHmacSecret.reveal());
  }

  async #attempt(
    delivery: Delivery,
    secretHash: string,
    line: Line,
    signal: AbortSignal,
  ): Promise<DeliveryError | null> {
    // The settings may have changed since it was registered.
    if (urlRefusal(delivery.url, this.#parts.settings.allowLoopbackWebhooks) !== null) return 'ssrf-rejected';
    const kept = line.to(delivery.url);
    if (kept !== null) {
      try {
        return await this.#post(kept, delivery, secretHash, signal);
      } catch (error) {
        // The receiver may have closed it after the event before.
        if (signal.aborted) throw error;
      }
    }
    const url = new URL(delivery.url);
    const client = line.keep(delivery.url, this.#clientTo(url, await this.#addressesOf(url, signal)));
    return this.#post(client, delivery, secretHash, signal);
  }

  async #post(
    client: Client,
    { url, body, correlationId }: Delivery,
    secretHash: string,
    signal: AbortSignal,
  ): Promise<DeliveryError | null> {
    const { pathname, search } = new URL(url);
    const timestamp = String(Math.floor(this.#parts.clock.nowMs() / 1000));
    const answer = await client.request({
      method: 'POST',
      path: `${pathname}${search}`,
      headers: {
        'content-type': 'application/json',
        'user-agent': `mnemesh/${VERSION}`,
        'x-svc-timestamp': timestamp,
        'x-svc-correlation-id': correlationId,
        'x-svc-signature': signatureOf(secretHash, timestamp, body),
      },
      body,
      signal,
    });
    if (answer.statusCode < 200 || answer.statusCode > 299) return `http-${answer.statusCode}`;
    return acknowledgement(await textOf(answer.body), correlationId);
  }

  /** The addresses that the connection may go to: the first one of each family, after all of them were checked. */
  async #addressesOf(url: URL, signal: AbortSignal): Promise<readonly [Resolved, ...Resolved[]]> {
    const { settings } = this.#parts;
    const host = hostOf(url);
    const family = isIP(host);
    const found = family === 0 ? await this.#resolved(host, signal) : [{ address: host, family }];
    const [first] = found;
    if (first === undefined) throw new Refused('dns-ssrf-rejected');
    const mayBeHere = settings.allowLoopbackWebhooks;
    if (found.some(({ address }) => addressRefusal(address, mayBeHere) !== null))
      throw new Refused(family === 0 ? 'dns-ssrf-rejected' : 'ssrf-rejected');
    // Without TLS only this machine is called, whatever its name resolves to.
    const isHere = ({ address }: Resolved) => addressRefusal(address, false) !== null;
    if (url.protocol === 'http:' && !found.every(isHere)) throw new Refused('dns-ssrf-rejected');
    const second = found.find((other) => other.family !== first.family);
    return second === undefined ? [first] : [first, second];
  }

  async #resolved(host: string, signal: AbortSignal): Promise<readonly Resolved[]> {
    try {
      return await this.#lookups.of(host, signal);
    } catch (error) {
      signal.throwIfAborted();
      // There is no address to call either way; permitted, the failure is one of the network.
      if (this.#parts.settings.ssrfGuardAllowDnsFail) throw error;
      throw new Refused('dns-ssrf-rejected');
    }
  }

  #clientTo(url: URL, addresses: readonly [Resolved, ...Resolved[]]): Client {
    const { authorities } = this.#parts;
    const [{ address, family }] = addresses;
    const pinned: LookupFunction = (_host, options, done) => {
      if (options.all === true) done(null, [...addresses]);
      else done(null, address, family);
    };
    const host = hostOf(url);
    return new Client(url.origin, {
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: {
        lookup: pinned,
        timeout: WEBHOOK_TIMEOUT_MS,
        // Whatever NODE_TLS_REJECT_UNAUTHORIZED says: a body goes to its receiver only.
        rejectUnauthorized: true,
        // The name that TLS asks for has no final dot (RFC 6066).
        ...(isIP(host) === 0 ? { servername: host } : {}),
        ...(authorities === undefined ? {} : { ca: [...authorities] }),
      },
    });
  }
}

/** A connection to the receiver of the events before. */
class Line {
  #url: string | null = null;
  #client: Client | null = null;

  to(url: string): Client | null {
    return this.#url === url ? this.#client : null;
  }

  keep(url: string, client: Client): Client {
    this.close();
    this.#url = url;
    this.#client = client;
    return client;
  }

  close(): void {
    void this.#client?.destroy().catch(() => undefined);
    this.#url = null;
    this.#client = null;
  }
}

/** The body of an answer; null when it is too long. */
async function textOf(body: AsyncIterable<Uint8Array>): Promise<string | null> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > WEBHOOK_RESPONSE_BYTES_MAX) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Null for `{"status": "ack", "correlation_id": "<same>"}`. */
function acknowledgement(text: string | null, correlationId: string): DeliveryError | null {
  if (text === null) return 'ack-read';
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    return 'ack-decode';
  }
  if (typeof answer !== 'object' || answer === null) return 'ack-decode';
  const { status, correlation_id } = answer as Record<string, unknown>;
  if (status !== 'ack') return 'ack-status';
  return correlation_id === correlationId ? null : 'ack-corr-mismatch';
}
