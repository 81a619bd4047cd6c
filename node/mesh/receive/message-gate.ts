import {
  DATED_NONCE_KEPT_MS,
  MESSAGE_WINDOW_MS,
  NONCES_PER_PEER_MAX,
  UNDATED_NONCE_KEPT_MS,
} from '../../../protocol/base/limits.js';
import { type Failure, fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import type { Clock, Crypto, Log } from '../../../protocol/base/seams.js';
import { parseRfc3339Ms } from '../../../protocol/base/time.js';
import type { Peer } from '../../../protocol/peers/peer.js';
import type { UsedNonce } from '../../../protocol/replication/used-nonce.js';
import { checkMessage, type MessagePolicy, type Senders } from '../../../protocol/wire/message-verdict.js';
import type { ReceivedMessage } from '../../../protocol/wire/transport.js';
import type { Store } from '../../../storage/port.js';
import { NonceIndex } from './nonce-index.js';
import { tagged } from './reply.js';

export interface MessageGateOptions {
  readonly store: Store;
  readonly senders: Senders;
  readonly policy: MessagePolicy;
  readonly clock: Clock;
  readonly crypto: Crypto;
  readonly log: Log;
  /** This node, the only receiver that a message may name. */
  readonly peerId: string;
  /** Most nonces remembered of one peer. */
  readonly noncesMax?: number;
}

/** A message whose sender is known. */
export interface Authenticated {
  readonly peer: Peer;
  /** Used up with the first write that the message causes; null for a message without a nonce. */
  readonly nonce: UsedNonce | null;
}

/** When a throttled peer may come again: by then at least some nonces of dated messages have expired. */
const THROTTLE_SECONDS = 60;

/**
 * Admits messages of peers (interface §5.2): sender, certificate, signature, nonce. The nonce is reserved here, so that
 * no copy passes from now on; the store remembers it with the effects of the message.
 */
export class MessageGate {
  readonly #options: MessageGateOptions;
  readonly #nonces: NonceIndex;
  readonly #warned = new Set<string>();
  /** Peers that have named a receiver: each of their messages must. */
  readonly #naming = new Set<string>();
  #loading: Promise<Result<null>> | null = null;

  constructor(options: MessageGateOptions) {
    this.#options = options;
    this.#nonces = new NonceIndex(options.noncesMax ?? NONCES_PER_PEER_MAX);
  }

  /** Authenticates a message before its body is parsed. */
  async admit(message: ReceivedMessage): Promise<Result<Authenticated>> {
    const { policy, senders, crypto, clock, log } = this.#options;
    const verdict = checkMessage(message, policy, senders, crypto);
    if (!verdict.ok) return failed(tagged(verdict.tag));
    const { peer } = verdict;
    if (verdict.certificateUnbound && !this.#warned.has(peer.peerId)) {
      this.#warned.add(peer.peerId);
      log.warn(
        { peer_id: peer.peerId, fingerprint: message.fingerprint },
        'the certificate is bound to no peer',
      );
    }
    if (verdict.nonce === null) return ok({ peer, nonce: null });

    const loaded = await this.#load();
    if (!loaded.ok) return failed(loaded.error);
    const nowMs = clock.nowMs();
    const nonce: UsedNonce = {
      peerId: peer.peerId,
      fingerprint: crypto.sha256Hex(verdict.nonce),
      usedAtMs: nowMs,
      keepUntilMs: nowMs + UNDATED_NONCE_KEPT_MS,
    };
    switch (this.#nonces.reserve(nonce, nowMs)) {
      case 'replay':
        return failed(tagged('x_memory_nonce_replay'));
      case 'full':
        return fail('PEER_THROTTLED', 'this peer sent too many messages: wait', {
          retry_after_secs: THROTTLE_SECONDS,
        });
      case 'new':
        return ok({ peer, nonce });
    }
  }

  /**
   * Checks the receiver that an authenticated message names under its signature, so that nobody passes a message on to
   * another node.
   */
  receiverProblem({ peer }: Authenticated, receiver: string | undefined): Failure | null {
    if (receiver === undefined) {
      return this.#naming.has(peer.peerId) ? tagged('x_memory_receiver_missing') : null;
    }
    if (receiver !== this.#options.peerId) return tagged('x_memory_receiver_mismatch');
    this.#naming.add(peer.peerId);
    return null;
  }

  /**
   * Checks the time at which an authenticated message says that it was sent, and fixes how long its nonce is kept:
   * VALIDATION_FAILED for a text that is not an instant, message_out_of_time outside the window.
   */
  date(authenticated: Authenticated, sentAt: string | undefined, field: string): Result<Authenticated> {
    if (sentAt === undefined) return ok(authenticated);
    const sentMs = parseRfc3339Ms(sentAt);
    if (sentMs === null) {
      return fail('VALIDATION_FAILED', `${field} must be an RFC 3339 instant`, { fields: [field] });
    }
    const nowMs = this.#options.clock.nowMs();
    if (Math.abs(nowMs - sentMs) > MESSAGE_WINDOW_MS) {
      return failed(tagged('message_out_of_time', { skew_ms: sentMs - nowMs }));
    }
    if (authenticated.nonce === null) return ok(authenticated);
    const nonce = { ...authenticated.nonce, keepUntilMs: nowMs + DATED_NONCE_KEPT_MS };
    this.#nonces.settle(nonce);
    return ok({ ...authenticated, nonce });
  }

  /** Uses up a nonce for good, for a message whose effects do not do so. */
  async use(nonce: UsedNonce | null): Promise<Result<null>> {
    if (nonce === null) return ok(null);
    const used = await this.#options.store.execute({ kind: 'use-nonce', nonce });
    if (used.ok) return ok(null);
    this.failed(nonce, used.error);
    return failed(used.error.code === 'x_memory_nonce_replay' ? tagged(used.error.code) : used.error);
  }

  /** A message with this nonce failed. Where it certainly had no effect, the peer may send the same message again. */
  failed(nonce: UsedNonce | null, { code }: Failure): void {
    if (nonce !== null && NOT_TAKEN.has(code)) this.#nonces.release(nonce);
  }

  #load(): Promise<Result<null>> {
    this.#loading ??= this.#readNonces();
    return this.#loading;
  }

  async #readNonces(): Promise<Result<null>> {
    try {
      const listed = await this.#options.store.query({ kind: 'list-nonces' });
      if (listed.ok) this.#nonces.load(listed.value);
      else this.#loading = null;
      return listed.ok ? ok(null) : failed(listed.error);
    } catch (error) {
      // The next message loads again.
      this.#loading = null;
      throw error;
    }
  }
}

const NOT_TAKEN: ReadonlySet<string> = new Set([
  'OVERLOADED',
  'SHUTTING_DOWN',
  'STORAGE_FULL',
  'STORAGE_READ_ONLY',
]);
