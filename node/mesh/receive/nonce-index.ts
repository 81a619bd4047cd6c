import type { UsedNonce } from '../../../protocol/replication/used-nonce.js';

interface UsedByPeer {
  /** By fingerprint: until when the nonce is remembered. */
  readonly until: Map<string, number>;
  sweptAtMs: number;
}

/** Expired nonces are dropped once in this time, because scanning many nonces is expensive. */
const SWEEP_INTERVAL_MS = 60_000;

/**
 * The remembered nonces that peers have used, in memory: the store keeps them, and a restart loads them from there. A
 * nonce is reserved before its message is processed further, so that two simultaneous copies do not both pass. No nonce
 * is forgotten before its time, however many others come: a peer that floods is throttled.
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

  /** Reserves a nonce: `replay` when it is remembered, `full` when the peer holds the most allowed. */
  reserve(nonce: UsedNonce, nowMs: number): 'new' | 'replay' | 'full' {
    const used = this.#of(nonce.peerId);
    const keptUntilMs = used.until.get(nonce.fingerprint);
    if (keptUntilMs !== undefined && keptUntilMs > nowMs) return 'replay';
    if (Math.abs(nowMs - used.sweptAtMs) >= SWEEP_INTERVAL_MS) sweep(used, nowMs);
    if (used.until.size >= this.#peerMax) return 'full';
    used.until.set(nonce.fingerprint, nonce.keepUntilMs);
    return 'new';
  }

  /** Sets how long a nonce is kept; that is only known once its message has been read. */
  settle(nonce: UsedNonce): void {
    this.#of(nonce.peerId).until.set(nonce.fingerprint, nonce.keepUntilMs);
  }

  /** Frees a nonce whose message was certainly not taken, so that its sender may repeat it. */
  release(nonce: UsedNonce): void {
    this.#of(nonce.peerId).until.delete(nonce.fingerprint);
  }

  /** The number of remembered nonces of a peer. */
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
