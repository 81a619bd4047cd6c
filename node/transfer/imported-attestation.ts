import { canonicalInstant } from '../../protocol/base/time.js';
import { ownerOf } from '../../protocol/identity/owner.js';
import { writeEnvelopeBytes } from '../../protocol/identity/write-envelope.js';
import type { Memory } from '../../protocol/memory/memory.js';
import type { ReadServices } from '../pipeline/call.js';

/** The value of an imported signature. */
export interface Attested {
  /** The peer whose machine signed; null when the agent's own key did. */
  readonly attestedBy: string | null;
}

/** True when the row's signature covers its text under the key that it carries. The owner of the key is not checked. */
export function signatureCovers(memory: Memory, services: Pick<ReadServices, 'crypto'>): boolean {
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

/**
 * Whether a key speaks for an agent here, and through which peer; null when it does not. An agent's bound key does; the
 * machine's own key does for agents without one, as for the writes that it signs itself.
 */
export async function keySpeaksFor(
  publicKey: Uint8Array,
  agentId: string,
  services: Pick<ReadServices, 'machineKey' | 'peerId' | 'store'>,
): Promise<Attested | null> {
  const { machineKey, peerId, store } = services;
  const found = await store.query({ kind: 'agent-key', agentId });
  if (!found.ok) return null;
  const own = machineKey !== null && Buffer.from(machineKey.publicKey).equals(publicKey);
  const bound = found.value.publicKey;
  if (bound === null) return own ? { attestedBy: peerId } : null;
  if (bound !== Buffer.from(publicKey).toString('base64')) return null;
  return { attestedBy: own ? peerId : null };
}
