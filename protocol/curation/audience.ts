import { ownerOf } from '../identity/owner.js';
import type { Memory } from '../memory/memory.js';

/** Who may see a memory, whose it is and where it lies, as one text: the curator puts only equal ones together. */
export function audienceKey({ namespace, metadata }: Pick<Memory, 'namespace' | 'metadata'>): string {
  const scope = metadata['scope'] ?? null;
  const addressee = [metadata['target_agent_id'] ?? null, metadata['recipient_agent_id'] ?? null];
  return JSON.stringify([namespace, ownerOf({ metadata }), scope === 'collective' ? null : scope, addressee]);
}
