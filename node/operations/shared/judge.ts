import { isSameKey } from '../../../protocol/base/key-text.js';
import type { PeerId } from '../../../protocol/base/meanings.js';
import type { AgentKeys } from '../../../protocol/identity/agent.js';
import type { Memory } from '../../../protocol/memory/memory.js';

/** True for a memory that is stored as attested. What that is worth depends on the keys that a node knows. */
export const claimsAttestation = ({ metadata }: Pick<Memory, 'metadata'>): boolean =>
  metadata['attest_level'] === 'agent_attested';

/** The node that signed a memory for its agent; null where the agent's own key did. */
export function attesterOf({ metadata }: Pick<Memory, 'metadata'>): PeerId | null {
  const attester = metadata['attested_by'];
  return typeof attester === 'string' ? attester : null;
}

/**
 * True when the key of a memory's signature speaks for its agent here (decisions, "Attestation is judged at the read"): a
 * key that is or was bound to the agent, or, for an agent without a key, that of a member. `keys` is null where the
 * agent's keys are not known. The signature itself was verified when the memory was stored or received.
 */
export function isAttested(
  memory: Pick<Memory, 'metadata' | 'write_signature'>,
  keys: AgentKeys | null,
  members: ReadonlySet<PeerId>,
): boolean {
  const key = memory.write_signature?.public_key;
  if (!claimsAttestation(memory) || keys === null || key === undefined) return false;
  if (keys.bound !== null && isSameKey(key, keys.bound)) return true;
  if (keys.earlier.some((earlier) => isSameKey(key, earlier))) return true;
  const attester = attesterOf(memory);
  return keys.bound === null && attester !== null && members.has(attester);
}

/** The memory as a node shows it that does not believe its attestation; the stored row stays as it is. */
export function shownAsClaimed<M extends Pick<Memory, 'metadata'>>(memory: M): M {
  const { attested_by: _by, ...metadata } = memory.metadata;
  return { ...memory, metadata: { ...metadata, attest_level: 'claimed' } };
}
