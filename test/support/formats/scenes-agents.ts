import { signedBytes, signWrite } from '../../../node/identity/sign-write.js';
import { systemCrypto } from '../../../node/seams.js';
import { SIGNED_WRITE_FRESHNESS_MS } from '../../../protocol/base/limits.js';
import { instantFromMs } from '../../../protocol/base/time.js';
import { AGENTS_NAMESPACE, agentTitle } from '../../../protocol/identity/agent.js';
import type { Memory } from '../../../protocol/memory/memory.js';
import { aMemory, OPERATOR, storing, updating } from '../memories.js';
import { type AgentKey, agentKey } from '../signing.js';
import { base64, type FormatCast, id } from './format-cast.js';

/** Two agents register; one binds a key and signs what it writes. */
export async function agents(cast: FormatCast): Promise<void> {
  for (const [index, agentId] of ['ai:author', 'human:alice'].entries()) {
    const at = instantFromMs(cast.nowMs + 1000);
    const memory = aMemory({
      id: id(900 + index),
      namespace: AGENTS_NAMESPACE,
      title: agentTitle(agentId),
      content: `agent ${agentId}`,
      tier: 'long',
      created_at: at,
      updated_at: at,
      metadata: {
        agent_id: agentId,
        agent_type: index === 0 ? 'ai:generic' : 'human',
        capabilities: ['read', 'write'],
        registered_at: at,
        last_seen_at: at,
      },
    });
    await cast.run(cast.ash, {
      kind: 'register-agent',
      memory,
      spareId: id(910 + index),
      viewer: OPERATOR,
      admin: true,
    });
  }
  const publicKey = base64(agentKey('ai:author').signer.publicKey);
  await cast.run(cast.ash, {
    kind: 'bind-agent-key',
    agentId: 'ai:author',
    publicKey,
    by: 'human:alice',
  });
  await signed(cast, agentKey('ai:author'), {
    title: 'Signed by its author',
    content: 'What the author wrote.',
  });
  await signed(cast, agentKey('ai:author'), {
    title: 'Signed and edited',
    content: 'What the author wrote first.',
  });
  await cast.run(cast.ash, updating(id(cast.ids), { content: 'Without a signature.' }));
}

/** Stores a memory that its author signed. */
async function signed(
  cast: FormatCast,
  key: AgentKey,
  { title, content }: Pick<Memory, 'title' | 'content'>,
): Promise<void> {
  cast.ids += 1;
  const at = instantFromMs(cast.nowMs + 1000);
  const publicKey = base64(key.signer.publicKey);
  const fields = { agentId: key.agentId, namespace: 'team/signed', title, kind: 'claim', content };
  const { signature, created_at } = signWrite(key.signer, fields, at, systemCrypto);
  const memory: Partial<Memory> = {
    id: id(cast.ids),
    namespace: fields.namespace,
    title,
    content,
    kind: 'claim',
    created_at: at,
    updated_at: at,
    metadata: { agent_id: key.agentId, attest_level: 'agent_attested' },
    write_signature: { signature, created_at, public_key: publicKey },
  };
  const envelope = {
    agentId: key.agentId,
    fingerprint: systemCrypto.sha256Hex(signedBytes(fields, at, systemCrypto)),
    publicKey,
    expiresAtMs: cast.nowMs + SIGNED_WRITE_FRESHNESS_MS,
  };
  await cast.run(cast.ash, storing(memory, { envelope }));
}
