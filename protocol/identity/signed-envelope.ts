import type { AgentId } from '../base/meanings.js';
/** A verified signed write envelope; the decision checks it again. */
export interface SignedEnvelope {
  readonly agentId: AgentId;
  /** SHA-256 of the envelope's bytes, hex. */
  readonly fingerprint: string;
  /** Standard base64 of the key that verified it. */
  readonly publicKey: string;
  /** When every node refuses the envelope because of its date. */
  readonly expiresAtMs: number;
}
