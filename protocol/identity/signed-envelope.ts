import type { AgentId } from '../base/meanings.js';
import { type Failure, failure } from '../base/result.js';
import type { Reading } from '../decide/reads.js';
import { boundKeyOf, usedEnvelope } from './reads.js';
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

/**
 * Why a verified envelope cannot be used inside the write transaction: it was used before (ATTESTATION_REPLAYED), or
 * its key is no longer the agent's (ATTESTATION_FAILED). Null when it can be used.
 */
export function* envelopeProblem(envelope: SignedEnvelope): Reading<Failure | null> {
  const memoryId = yield* usedEnvelope({ fingerprint: envelope.fingerprint });
  if (memoryId !== null) {
    const message = 'this signed write was accepted before; sign it again with a new created_at';
    return failure('ATTESTATION_REPLAYED', message, { existing_id: memoryId });
  }
  if ((yield* boundKeyOf({ agentId: envelope.agentId })) === envelope.publicKey) return null;
  return { code: 'ATTESTATION_FAILED', message: 'the signing key is not bound to this agent' };
}
