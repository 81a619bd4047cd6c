/** The metadata of a memory say whose it is, and for whom. */
interface Owned {
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** The agent that owns a memory, or null for rows without one. */
export function ownerOf(memory: Owned): string | null {
  const owner = memory.metadata['agent_id'];
  return typeof owner === 'string' ? owner : null;
}

/** The agent that a message is addressed to, or null. */
export function addresseeOf(memory: Owned): string | null {
  const { target_agent_id: target, recipient_agent_id: recipient } = memory.metadata;
  if (typeof target === 'string') return target;
  return typeof recipient === 'string' ? recipient : null;
}
