import type { PeerId } from '../base/meanings.js';
/** A nonce that a peer used. */
export interface UsedNonce {
  readonly peerId: PeerId;
  /** SHA-256 of the nonce, hex. */
  readonly fingerprint: string;
  readonly usedAtMs: number;
  /** When the node may forget it. */
  readonly keepUntilMs: number;
}
