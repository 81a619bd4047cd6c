import type { UsedNonce } from '../../../protocol/replication/used-nonce.js';

interface UsedByPeer {
  /** By fingerprint, until when it is remembered. */
  readonly until: Map<string, number>;
  sweptAtMs: number;
}

/** What is out of date is dropped once in this time: looking for it in many nonces costs. */
const SWEEP_INTERVAL_MS = 60_000;

/**
 * The nonces that peers have used and that are still remembered, in memory: the store keeps them, and a restart loads
 * them from there. A nonce is reserved before its message is looked at further, so that two copies that come at once
 * do not both pass. None is forgotten before its time, however many others come: whoever floods is throttled.
 */
export class NonceIndex {
  readonly #byPeer = new Map<string, UsedByPeer>();
  readonly #peerMax: number;

  constructor(peerMax: number) {
    this.#peerMax = peerMax;
  }

  /** Takes what the store remembers. */
  load(nonces: readonly UsedNonce[]): void {
    for (const nonce of nonces) this.#of(nonce.peerId).until.set(nonce.fingerprint, nonce.keepUntilMs);
  }

  /** Reserves a nonce: `replay` when it is remembered, `full` when the peer holds as many as it may. */
  reserve(nonce: UsedNonce, nowMs: number): 'new' | 'replay' | 'full' {
    const used = this.#of(nonce.peerId);
    const keptUntilMs = used.until.get(nonce.fingerprint);
    if (keptUntilMs !== undefined && keptUntilMs > nowMs) return 'replay';
    if (Math.abs(nowMs - used.sweptAtMs) >= SWEEP_INTERVAL_MS) sweep(used, nowMs);
    if (used.until.size >= this.#peerMax) return 'full';
    used.until.set(nonce.fingerprint, nonce.keepUntilMs);
    return 'new';
  }

  /** How long a nonce is kept shows only when its message has been read. */
  settle(nonce: UsedNonce): void {
    this.#of(nonce.peerId).until.set(nonce.fingerprint, nonce.keepUntilMs);
  }

  /** Frees a nonce whose message was surely not taken, so that its sender may repeat it. */
  release(nonce: UsedNonce): void {
    this.#of(nonce.peerId).until.delete(nonce.fingerprint);
  }

  /** Nonces that are remembered of a peer. */
  held(peerId: string): number {
    return this.#byPeer.get(peerId)?.until.size ?? 0;
  }

  #of(peerId: string): UsedByPeer {
    let used = this.#byPeer.get(peerId);
    if (used === undefined) {
      used = { until: new Map(), sweptAtMs: 0 };
      this.#byPeer.set(peerId, used);
    }
    return used;
  }
}

function sweep(used: UsedByPeer, nowMs: number): void {
  used.sweptAtMs = nowMs;
  for (const [fingerprint, untilMs] of used.until) if (untilMs <= nowMs) used.until.delete(fingerprint);
}
