import type { Store } from '../../storage/port.js';
import { aMemory, OPERATOR } from './memories.js';
import type { AgentKey } from './signing.js';

/** Registers an agent and binds its key. */
export async function bindKey(store: Store, key: AgentKey): Promise<void> {
  const memory = aMemory({
    ...{ namespace: '_agents', title: `agent:${key.agentId}`, content: 'an agent' },
    metadata: { agent_id: key.agentId, agent_type: 'ai:generic', capabilities: [] },
  });
  const spareId = aMemory({}).id;
  await store.execute({ kind: 'register-agent', memory, spareId, viewer: OPERATOR, admin: true });
  await setKey(store, key.agentId, key.publicKeyText);
}

/** Binds a key to a registered agent; null revokes the bound one. */
export async function setKey(store: Store, agentId: string, publicKey: string | null): Promise<void> {
  const bound = await store.execute({ kind: 'bind-agent-key', agentId, publicKey, by: 'test' });
  if (!bound.ok) throw new Error(bound.error.message);
}
