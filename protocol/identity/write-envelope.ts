import { encodeCborMap } from '../base/cbor.js';
import type { AgentId, Instant } from '../base/meanings.js';

/** What an author signs when writing a memory (interface §4.2, reference-federation §1.1). */
export interface WriteEnvelope {
  readonly agentId: AgentId;
  readonly namespace: string;
  readonly title: string;
  readonly kind: string;
  /** RFC 3339, exactly as the author sent it. */
  readonly createdAt: Instant;
  /** SHA-256 of the UTF-8 content, 32 bytes. */
  readonly contentSha256: Uint8Array;
}

/** The bytes under an Ed25519 write signature: the six-key CBOR map of the interface. */
export function writeEnvelopeBytes(envelope: WriteEnvelope): Uint8Array {
  return encodeCborMap({
    agent_id: envelope.agentId,
    content_sha256: envelope.contentSha256,
    created_at: envelope.createdAt,
    kind: envelope.kind,
    namespace: envelope.namespace,
    title: envelope.title,
  });
}
