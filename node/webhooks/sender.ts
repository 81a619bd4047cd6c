import { createHmac } from 'node:crypto';
import type { JobRunner } from '../../actors/core/job-dispatcher.js';
import { WEBHOOK_RESPONSE_BYTES_MAX, WEBHOOK_TIMEOUT_MS } from '../../protocol/base/limits.js';
import type { Clock, Crypto, Scheduler } from '../../protocol/base/seams.js';
import type { Delivery } from '../../protocol/webhooks/queries.js';
import type { Settings } from '../config/settings.js';
import { urlRefusal } from '../outbound/address-guard.js';
import { GuardedAddresses } from '../outbound/guarded-addresses.js';
import type { Resolved } from '../outbound/lookups.js';
import { OutboundClient, type Posted } from '../outbound/outbound-client.js';
import { VERSION } from '../version.js';

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

/**
 * Sends events to receivers (interface §6.1). Every resolved address is checked, and the connection goes to the address
 * that was checked. A connection is for one turn only.
 */
export class WebhookSender {
  readonly #parts: SenderParts;
  readonly #guard: GuardedAddresses;

  constructor(parts: SenderParts) {
    const { settings, resolve } = parts;
    this.#parts = parts;
    this.#guard = new GuardedAddresses({
      allowsLoopback: settings.allowLoopbackWebhooks,
      allowsDnsFailure: settings.ssrfGuardAllowDnsFail,
      ...(resolve === undefined ? {} : { resolve }),
    });
  }

  /** The connection of one turn, which events to one receiver share; it is made when the first is sent. */
  open(): JobRunner<Delivery> {
    const { scheduler, authorities, timeoutMs = WEBHOOK_TIMEOUT_MS } = this.#parts;
    const client = new OutboundClient({
      ...{ scheduler, timeoutMs, connectTimeoutMs: WEBHOOK_TIMEOUT_MS, connectionsMax: 1 },
      ...{ answerBytesMax: WEBHOOK_RESPONSE_BYTES_MAX, guard: this.#guard },
      ...(authorities === undefined ? {} : { authorities }),
    });
    return {
      run: (delivery, stopping) => this.#send(delivery, client, stopping),
      close: () => void client.close(),
    };
  }

  /** Sends an event once, on a connection of its own. */
  async send(delivery: Delivery): Promise<string | null> {
    const connection = this.open();
    try {
      return await connection.run(delivery);
    } finally {
      connection.close();
    }
  }

  async #send(
    { url, body, correlationId, secretHash: own }: Delivery,
    client: OutboundClient,
    stopping?: AbortSignal,
  ): Promise<DeliveryError | null> {
    const secretHash = own ?? this.#nodeSecretHash();
    if (secretHash === null) return 'no-secret';
    // The settings may have changed since it was registered.
    if (urlRefusal(url, this.#parts.settings.allowLoopbackWebhooks) !== null) return 'ssrf-rejected';
    const timestamp = String(Math.floor(this.#parts.clock.nowMs() / 1000));
    const headers = {
      'content-type': 'application/json',
      'user-agent': `mnemesh/${VERSION}`,
      'x-svc-timestamp': timestamp,
      'x-svc-correlation-id': correlationId,
      'x-svc-signature': signatureOf(secretHash, timestamp, body),
    };
    const posted = await client.post(url, { headers, body }, stopping);
    const error = outcomeOf(posted, correlationId);
    if (error !== null) await client.close();
    return error;
  }

  #nodeSecretHash(): string | null {
    const { settings, crypto } = this.#parts;
    return settings.webhookHmacSecret === null ? null : crypto.sha256Hex(settings.webhookHmacSecret.reveal());
  }
}

/** Why a delivery failed; null for one that was acknowledged. */
function outcomeOf(posted: Posted, correlationId: string): DeliveryError | null {
  switch (posted.kind) {
    case 'answer':
      return acknowledgement(posted.text, correlationId);
    case 'too-large':
      return 'ack-read';
    case 'status':
      return `http-${posted.status}`;
    case 'refused':
      return posted.by === 'name' ? 'dns-ssrf-rejected' : 'ssrf-rejected';
    default:
      return 'network';
  }
}

/** Null for `{"status": "ack", "correlation_id": "<same>"}`. */
function acknowledgement(text: string, correlationId: string): DeliveryError | null {
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
