import { type Memory, ownerOf } from '../../protocol/memory.js';
import { canonicalInstant } from '../../protocol/time.js';
import { writeEnvelopeBytes } from '../../protocol/write-envelope.js';
import type { Services } from '../pipeline/call.js';

/** What an imported signature is worth. */
export interface Attested {
  /** The peer whose machine signed, or null when the agent's own key did. */
  readonly attestedBy: string | null;
}

/** True when the row's signature covers its text under the key that it carries, whosever that key is. */
export function signatureCovers(memory: Memory, services: Pick<Services, 'crypto'>): boolean {
  const { write_signature: signed } = memory;
  const agentId = ownerOf(memory);
  if (signed === null || agentId === null || canonicalInstant(signed.created_at) === null) return false;
  const envelope = writeEnvelopeBytes({
    agentId,
    namespace: memory.namespace,
    title: memory.title,
    kind: memory.kind,
    createdAt: signed.created_at,
    contentSha256: services.crypto.sha256(memory.content),
  });
  const publicKey = Buffer.from(signed.public_key, 'base64');
  return services.crypto.verify(publicKey, envelope, Buffer.from(signed.signature, 'base64'));
}

/** Whether a key speaks for an agent here, and by whom; null when it does not. Now only the machine's own key does. */
export function keySpeaksFor(
  publicKey: Uint8Array,
  _agentId: string,
  services: Pick<Services, 'machineKey' | 'peerId'>,
): Attested | null {
  const { machineKey, peerId } = services;
  return machineKey !== null && Buffer.from(machineKey.publicKey).equals(publicKey)
    ? { attestedBy: peerId }
    : null;
}
