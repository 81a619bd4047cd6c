import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { signedBytes, signWrite } from '../../node/identity/sign-write.js';
import { systemCrypto } from '../../node/seams.js';
import type { Memory } from '../../protocol/memory/memory.js';
import { bindKey } from '../support/agents.js';
import { aMemory, OPERATOR, storing } from '../support/memories.js';
import { openReceiverNode } from '../support/receiver-node.js';
import { agentKey } from '../support/signing.js';
import { TestPeer } from '../support/test-peer.js';

const agent = agentKey('ai:signer');

/** A memory as the node that accepted its signature stored it. */
function signedMemory(createdAt: string): Memory {
  const memory = aMemory({ metadata: { agent_id: agent.agentId, attest_level: 'agent_attested' } });
  const { signature, created_at } = signWrite(agent.signer, fieldsOf(memory), createdAt, systemCrypto);
  return { ...memory, write_signature: { signature, created_at, public_key: agent.publicKeyText } };
}

const fieldsOf = ({ namespace, title, kind, content }: Memory) => ({
  ...{ agentId: agent.agentId, namespace, title, kind },
  content,
});

async function presentedAfter(createdAt: string, change: (memory: Memory) => Memory = (memory) => memory) {
  const peer = new TestPeer('accepted it');
  const node = await openReceiverNode({ peers: [peer.asPeer()] });
  try {
    const { store } = node.services;
    await bindKey(store, agent);
    const { agentId, publicKeyText: publicKey } = agent;
    const memory = signedMemory(createdAt);
    const operation = peer.operation(change(memory));
    assert.equal((await node.send(peer.push(peer.pushOf(operation)))).status, 200);
    const { id } = memory;
    await store.execute({ kind: 'delete-memory', id, archive: false, viewer: OPERATOR });
    const fingerprint = systemCrypto.sha256Hex(signedBytes(fieldsOf(memory), createdAt, systemCrypto));
    const expiresAtMs = Date.parse(createdAt) + 300_000;
    const again = await store.execute({
      ...storing({ ...memory, id: aMemory({}).id }),
      envelope: { agentId, fingerprint, publicKey, expiresAtMs },
    });
    return again.ok ? 'stored' : again.error.code;
  } finally {
    await node.close();
  }
}

describe('a signed envelope that another node accepted', () => {
  it('is refused here, also after the memory was deleted', async () => {
    assert.equal(await presentedAfter(new Date().toISOString()), 'ATTESTATION_REPLAYED');
  });

  it('is not taken for used where another key signed it', async () => {
    const other = agentKey(agent.agentId, Buffer.alloc(32, 7));
    const createdAt = new Date().toISOString();
    const forge = (memory: Memory): Memory => ({
      ...memory,
      write_signature: {
        ...signWrite(other.signer, fieldsOf(memory), createdAt, systemCrypto),
        public_key: other.publicKeyText,
      },
    });
    assert.equal(await presentedAfter(createdAt, forge), 'stored');
  });

  it('is not taken for used where the signature is wrong', async () => {
    const forge = (memory: Memory): Memory => ({ ...memory, content: 'another' });
    assert.equal(await presentedAfter(new Date().toISOString(), forge), 'stored');
  });
});
