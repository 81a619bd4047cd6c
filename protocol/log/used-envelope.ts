import type { AgentId } from '../base/meanings.js';

/** A signed write envelope that was accepted. */
export interface UsedEnvelope {
  readonly agentId: AgentId;
  /** The key that signed it, as the row spells it. */
  readonly publicKey: string;
  /** SHA-256 of its bytes, hex. */
  readonly fingerprint: string;
  /** No node accepts it from this time on. */
  readonly expiresAtMs: number;
}
