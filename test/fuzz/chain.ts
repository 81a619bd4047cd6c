import { systemCrypto } from '../../node/seams.js';
import { CHAIN_GENESIS, headerHash, type OperationHeader } from '../../protocol/log/operation-log.js';
import type { SignedHead, WireOperation } from '../../protocol/log/wire-operation.js';
import type { TestPeer } from '../support/test-peer.js';

/** What an operation says, apart from its place in a chain. */
export interface Said {
  readonly kind: string;
  readonly namespace: string;
  readonly subject: string;
  readonly seen: Readonly<Record<string, number>>;
  readonly payload: string;
}

/** An origin of a peer. It goes back to what a node says that it took, so that a refused push does not end it. */
export class Chain {
  readonly origin: string;
  #seq = 0;
  #lastMs = 0;
  #count = 0;
  readonly #hashes = [CHAIN_GENESIS];

  constructor(
    private readonly peer: TestPeer,
    epoch: string,
  ) {
    this.origin = `${peer.peerId}/${epoch}`;
  }

  next({ payload, ...said }: Said): WireOperation {
    const prevHash = this.#hashes[this.#seq]!;
    this.#seq += 1;
    // Many operations are made in a millisecond.
    const nowMs = Date.now();
    this.#count = nowMs > this.#lastMs ? 0 : this.#count + 1;
    this.#lastMs = Math.max(nowMs, this.#lastMs);
    const header = {
      origin: this.origin,
      seq: this.#seq,
      hlc: `${String(this.#lastMs).padStart(13, '0')}-${String(this.#count).padStart(5, '0')}`,
      ...said,
      payloadHash: systemCrypto.sha256Hex(payload),
      prevHash,
    } satisfies OperationHeader;
    this.#hashes[this.#seq] = headerHash(header, systemCrypto);
    return { ...header, payload };
  }

  head(): SignedHead {
    return this.peer.sign({ origin: this.origin, seq: this.#seq, hash: this.#hashes[this.#seq]! });
  }

  get seq(): number {
    return this.#seq;
  }

  /** Goes on after this operation, which the node has. */
  backTo(seq: number): void {
    this.#seq = seq;
  }
}
