import { type BackoffPolicy, backoffDelayMs } from '../../actors/core/backoff.js';
import { Listeners } from '../../actors/core/listeners.js';
import type { Crypto, Log, Random, Scheduler, Timer } from '../../protocol/base/seams.js';
import type { Peer, Roster } from '../../protocol/peers/peer.js';
import type { PeerTransport } from '../../protocol/wire/transport.js';
import type { WiredPeer, WiredState } from './mesh-answers.js';
import { type Asked, askWhoami } from './whoami.js';

export interface WiredPeersParts {
  /** As `--quorum-peers` names them. */
  readonly urls: readonly string[];
  /** This node's own id. */
  readonly self: string;
  /** Carries messages with the certificates and trust that the flags set. */
  readonly transport: PeerTransport;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly crypto: Crypto;
  readonly log: Log;
}

interface Wire {
  readonly url: string;
  state: WiredState;
  peerId: string | null;
  problem: string | null;
  failures: number;
  timer: Timer | null;
}

/** Addresses that do not answer are asked repeatedly; those that do, from time to time, because nodes move. */
const RETRY: BackoffPolicy = { initialMs: 250, maxMs: 5000, jitter: 0.5, stableMs: 0 };
const SETTLED_MS = 30_000;

/**
 * The addresses of `--quorum-peers` (interface §4.13) and of `sync-daemon --peers`, each resolved to the enrolled peer that answers there with its own
 * signature. An address without an enrolled peer behind it has a state, and is tried again.
 */
export class WiredPeers {
  readonly #parts: WiredPeersParts;
  readonly #wires: readonly Wire[];
  readonly #listeners = new Listeners();
  #stopped = true;

  constructor(parts: WiredPeersParts) {
    this.#parts = parts;
    this.#wires = parts.urls.map((url) => ({
      url: new URL(url).origin,
      state: 'asking',
      peerId: null,
      problem: null,
      failures: 0,
      timer: null,
    }));
  }

  /** `enrolled` finds a peer that is enrolled in any way. */
  start(enrolled: Pick<Roster, 'find'>): void {
    this.#stopped = false;
    for (const wire of this.#wires) void this.#ask(wire, enrolled);
  }

  stop(): void {
    this.#stopped = true;
    for (const wire of this.#wires) wire.timer?.cancel();
  }

  /** The number of addresses that lead, or may lead, to different peers. */
  get count(): number {
    return this.#wires.filter(({ state }) => state !== 'self' && state !== 'duplicate').length;
  }

  list(): readonly WiredPeer[] {
    return this.#wires.map(({ url, state, peerId, problem }) => ({ url, state, peer_id: peerId, problem }));
  }

  /** The address at which a peer has proved its identity; null for other peers. */
  urlOf(peerId: string): string | null {
    const found = this.#wires.find((wire) => wire.state === 'attached' && wire.peerId === peerId);
    return found?.url ?? null;
  }

  onChange(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  async #ask(wire: Wire, enrolled: Pick<Roster, 'find'>): Promise<void> {
    const { transport, scheduler, random } = this.#parts;
    const asked = await askWhoami(strangerAt(wire.url), transport, this.#parts);
    if (this.#stopped) return;
    this.#take(wire, asked, enrolled);
    const settled = wire.failures === 0 && wire.state !== 'not_enrolled' && wire.state !== 'wrong_key';
    const waitMs = settled
      ? SETTLED_MS
      : backoffDelayMs(RETRY, Math.max(0, wire.failures - 1), random.unit());
    wire.timer = scheduler.after(waitMs, () => void this.#ask(wire, enrolled));
  }

  #take(wire: Wire, asked: Asked, enrolled: Pick<Roster, 'find'>): void {
    if (asked.kind !== 'proven') {
      wire.failures += 1;
      // A peer that is away for a while keeps its address; the state of its connection shows that it is away.
      if (wire.state !== 'attached') this.#become(wire, asked.kind, wire.peerId, asked.problem);
      return;
    }
    const peer = enrolled.find(asked.peerId);
    const [state, problem] = this.#identify(wire, peer, asked.peerId, asked.publicKey);
    wire.failures = state === 'not_enrolled' || state === 'wrong_key' ? wire.failures + 1 : 0;
    this.#become(wire, state, asked.peerId, problem);
  }

  #identify(
    wire: Wire,
    peer: Peer | null,
    peerId: string,
    publicKey: Uint8Array,
  ): [WiredState, string | null] {
    if (peerId === this.#parts.self) return ['self', 'the address is this node itself: leave it out'];
    if (peer === null || peer.state !== 'member') {
      const how = `mnemesh identity import --agent-id ${peerId} --pub <file>`;
      return ['not_enrolled', `${peerId} answers there and is not enrolled here; enrol it with ${how}`];
    }
    if (!Buffer.from(peer.publicKey).equals(publicKey)) {
      return [
        'wrong_key',
        `the node that answers there names itself ${peerId} and has another key than the enrolled one`,
      ];
    }
    const other = this.#wires.find(
      (each) => each !== wire && each.state === 'attached' && each.peerId === peerId,
    );
    return other === undefined ? ['attached', null] : ['duplicate', `${other.url} leads to the same node`];
  }

  #become(wire: Wire, state: WiredState, peerId: string | null, problem: string | null): void {
    const changed = wire.state !== state || wire.peerId !== peerId;
    const { state: before } = wire;
    wire.state = state;
    wire.peerId = peerId;
    wire.problem = problem;
    if (!changed) return;
    const fields = { url: wire.url, peer: peerId, state, problem };
    if (state === 'attached') this.#parts.log.info(fields, 'a peer was found at its address');
    else this.#parts.log.warn(fields, 'an address of a peer leads to no enrolled peer');
    if (state === 'attached' || before === 'attached') this.#listeners.tell();
  }
}

/** The unknown node at an address, before it is identified. */
function strangerAt(url: string): Peer {
  return {
    peerId: url,
    url,
    publicKey: new Uint8Array(0),
    fingerprints: [],
    allowedNamespaces: [],
    allowedSenderAgentIds: [],
    state: 'member',
  };
}
