/** A nonce that a peer used. */
export interface UsedNonce {
  readonly peerId: string;
  /** SHA-256 of the nonce, hex. */
  readonly fingerprint: string;
  readonly usedAtMs: number;
  /** When the node may forget it. */
  readonly keepUntilMs: number;
}
