import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { memoryJson } from '../../protocol/memory/memory.js';
import { aMemory, storing } from '../support/memories.js';
import { openReceiverNode, type ReceiverNode } from '../support/receiver-node.js';
import { TestPeer } from '../support/test-peer.js';

const peer = new TestPeer('scoped', 'ai:scoped@host');
let node: ReceiverNode;
afterEach(() => node.close());

const PRIVATE = {
  agent_id: 'A',
  attest_level: 'claimed',
  scope: 'private',
  target_agent_id: 'B',
  imported_from_agent_id: 'C',
};
const later = '2027-01-01T00:00:00.000Z';

async function pushOver(agentIds: readonly string[], fields: Parameters<typeof aMemory>[0]) {
  node = await openReceiverNode({
    peers: [peer.asPeer({ allowedNamespaces: ['team/**'], allowedSenderAgentIds: agentIds })],
  });
  const stored = storing({ namespace: 'team/x', title: 'salaries', content: '4711', metadata: PRIVATE });
  assert.ok((await node.services.store.execute(stored)).ok);
  const { id } = stored.memory;
  const item = memoryJson(
    aMemory({ id, namespace: 'team/x', title: 'salaries', content: '4711', updated_at: later, ...fields }),
  );
  const { json } = await node.send(peer.push(peer.pushBody({ memories: [item] })));
  const [refused] = (json['skipped_items'] ?? []) as readonly { readonly code: string }[];
  return { row: (await node.memory(id))!, code: refused?.code ?? null };
}

describe('an array of a peer', () => {
  it('leaves owner, readers and addressee of a row as they are', async () => {
    const { row, code } = await pushOver(['A'], { content: 'new', metadata: {} });
    assert.deepEqual([code, row.content, row.metadata], [null, 'new', PRIVATE]);
  });

  it('leaves them where it names others', async () => {
    const metadata = { agent_id: 'A', scope: 'collective', target_agent_id: 'E' };
    const { row } = await pushOver(['A'], { content: 'new', metadata });
    assert.deepEqual(row.metadata, PRIVATE);
  });

  it('does not change the row of an agent in whose name the peer may not write', async () => {
    const { row, code } = await pushOver([], { content: 'pwned', metadata: {} });
    assert.deepEqual([code, row.content, row.metadata], ['FORBIDDEN', '4711', PRIVATE]);
  });

  it('does not change it by its title', async () => {
    const { row, code } = await pushOver([], { id: aMemory({}).id, content: 'pwned', metadata: {} });
    assert.deepEqual([code, row.content], ['FORBIDDEN', '4711']);
  });
});
