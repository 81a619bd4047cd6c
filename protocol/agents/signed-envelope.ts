/** A verified signed write envelope; the decision checks it again. */
export interface SignedEnvelope {
  readonly agentId: string;
  /** SHA-256 of the envelope's bytes, hex. */
  readonly fingerprint: string;
  /** Standard base64 of the key that verified it. */
  readonly publicKey: string;
  /** When every node refuses the envelope because of its date. */
  readonly expiresAtMs: number;
}
