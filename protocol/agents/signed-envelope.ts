/** A verified signed write envelope, as the decision judges it again. */
export interface SignedEnvelope {
  readonly agentId: string;
  /** SHA-256 of the envelope's bytes, hex. */
  readonly fingerprint: string;
  /** Standard base64 of the key that verified it. */
  readonly publicKey: string;
  /** When the envelope is out of date everywhere. */
  readonly expiresAtMs: number;
}
