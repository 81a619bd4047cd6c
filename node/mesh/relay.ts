import { type BackoffPolicy, backoffDelayMs } from '../../actors/core/backoff.js';
import type { PeerClient } from '../../actors/mesh/peer-client.js';
import { REQUEST_BODY_BYTES_MAX } from '../../protocol/base/limits.js';
import type { Clock, Crypto, Log, Random, Scheduler, Signer, Timer } from '../../protocol/base/seams.js';
import { instantFromMs } from '../../protocol/base/time.js';
import { type Have, haveOf, peerOfOrigin } from '../../protocol/log/wire-operation.js';
import type { Peer, Roster } from '../../protocol/peers/peer.js';
import type { Store } from '../../storage/port.js';
import { handlePull } from './receive/handle-pull.js';

export interface RelayParts {
  readonly store: Store;
  readonly client: PeerClient;
  readonly roster: Roster;
  readonly peerId: string;
  readonly signer: Signer;
  readonly clock: Clock;
  readonly crypto: Crypto;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly log: Log;
  readonly intervalMs: number;
  /** Most operations of one message. */
  readonly batchMax: number;
  readonly sent: (operations: number) => void;
}

/** What is known of a peer. */
interface Listener {
  /** What it has; null before it said so. */
  has: Have | null;
  /** Origins that it refuses, until when they rest, monotonic. */
  readonly refused: Map<string, number>;
  batch: number;
  failures: number;
  notBeforeMs: number;
  busy: boolean;
}

const RETRY: BackoffPolicy = { initialMs: 1_000, maxMs: 60_000, jitter: 0.5, stableMs: 0 };
/** How long an origin rests that a peer refused: its key may be enrolled there meanwhile. */
const REFUSED_REST_MS = 60_000;

/**
 * Pushes the operations of other nodes to peers. Peers pull these from a node that they can call; a process that they cannot call
 * has to push them. Each peer has its own turn, so none delays another.
 */
export class Relay {
  readonly #listeners = new Map<string, Listener>();
  #timer: Timer | null = null;
  #stopping = false;

  constructor(private readonly parts: RelayParts) {}

  start(): void {
    if (this.#stopping) return;
    for (const peer of this.parts.roster.peers()) {
      if (peer.state !== 'member' || peer.url === null) continue;
      const listener = this.#listenerOf(peer.peerId);
      if (listener.busy || this.parts.clock.monotonicMs() < listener.notBeforeMs) continue;
      void this.#turn(peer, listener);
    }
    this.#timer = this.parts.scheduler.after(this.parts.intervalMs, () => this.start());
  }

  /** Waits for no answer: the transport ends those that are under way. */
  stop(): void {
    this.#stopping = true;
    this.#timer?.cancel();
  }

  #listenerOf(peerId: string): Listener {
    const known = this.#listeners.get(peerId);
    if (known !== undefined) return known;
    const fresh = {
      has: null,
      refused: new Map(),
      batch: this.parts.batchMax,
      failures: 0,
      notBeforeMs: 0,
      busy: false,
    };
    this.#listeners.set(peerId, fresh);
    return fresh;
  }

  async #turn(peer: Peer, listener: Listener): Promise<void> {
    listener.busy = true;
    try {
      while (!this.#stopping && (await this.#bring(peer, listener)));
    } catch (error) {
      this.parts.log.error(
        { err: error, peer: peer.peerId },
        'operations of other nodes could not be passed on',
      );
      this.#failed(listener);
    } finally {
      listener.busy = false;
    }
  }

  /** Brings one batch; true when there may be more. */
  async #bring(peer: Peer, listener: Listener): Promise<boolean> {
    const { store, client, clock, peerId, signer, log, sent } = this.parts;
    const known = await store.query({ kind: 'known-origins' });
    if (!known.ok) return false;
    const here = haveOf(known.value.heads);
    const nowMs = clock.monotonicMs();
    const lacks = (has: Have) =>
      Object.keys(here).filter(
        (origin) =>
          ![peerId, peer.peerId].includes(peerOfOrigin(origin)) &&
          here[origin]! > (has[origin] ?? 0) &&
          (listener.refused.get(origin) ?? 0) <= nowMs,
      );
    if (lacks(listener.has ?? {}).length === 0) return false;
    if (listener.has === null) {
      const answer = await client.pull(peer, here, 1, { place: true });
      if (!answer.ok) return this.#failed(listener);
      listener.has = answer.reply.have;
    }
    const origins = lacks(listener.has);
    if (origins.length === 0) return false;
    const { has } = listener;
    const question = { have: has, limit: listener.batch, origins, place: true, stubs: false };
    const page = await handlePull({ ...this.parts, signer }, peer, question);
    if (!page.ok || page.value.operations.length === 0) return false;
    const { operations, heads } = page.value;
    const said = {
      sender_agent_id: peerId,
      sender_wall_clock: instantFromMs(clock.nowMs()),
      receiver: peer.peerId,
    };
    const body = new TextEncoder().encode(JSON.stringify({ ...said, memories: [], operations, heads }));
    if (body.length > REQUEST_BODY_BYTES_MAX && operations.length > 1) {
      listener.batch = Math.ceil(operations.length / 2);
      return true;
    }
    const answer = await client.push(peer, client.sign(body));
    if (!answer.ok) return this.#failed(listener);
    listener.failures = 0;
    listener.batch = this.parts.batchMax;
    listener.has = { ...has, ...answer.reply.have };
    sent(answer.reply.applied);
    const moved = Object.entries(answer.reply.have).some(([origin, seq]) => seq > (has[origin] ?? 0));
    for (const { origin, reason } of answer.reply.refused) {
      if (!listener.refused.has(origin))
        log.warn({ peer: peer.peerId, origin, reason }, 'a peer refuses operations of another node');
      listener.refused.set(origin, nowMs + REFUSED_REST_MS);
    }
    return moved;
  }

  /** Asks again later what the peer has. */
  #failed(listener: Listener): false {
    const { clock, random } = this.parts;
    listener.has = null;
    listener.failures += 1;
    listener.notBeforeMs = clock.monotonicMs() + backoffDelayMs(RETRY, listener.failures - 1, random.unit());
    return false;
  }
}
