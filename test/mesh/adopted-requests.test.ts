import assert from 'node:assert/strict';
import { afterEach, beforeEach, it } from 'node:test';
import type { WireOperation } from '../../protocol/log/wire-operation.js';
import { pendingKind } from '../../protocol/policies/pending-kind.js';
import { voteKind } from '../../protocol/policies/vote-kind.js';
import { aMemory, storing, tenant, updating } from '../support/memories.js';
import { openReceiverNode, type ReceiverNode } from '../support/receiver-node.js';
import { TestPeer } from '../support/test-peer.js';

/**
 * Requests that a peer with a scope wrote, and that this node decides because it took over that peer's actions. They do
 * no more than the peer might do itself, whoever approves them.
 */

let peer: TestPeer;
let node: ReceiverNode | null = null;
beforeEach(() => {
  peer = new TestPeer('a peer whose actions are taken over');
});
afterEach(async () => {
  await node?.close();
  node = null;
});

const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();

function request(command: object, id = 'asked'): WireOperation {
  const image = {
    ...{ pending_id: id, action_type: 'update', namespace: 'team/x', memory_id: null },
    ...{ command: command as Record<string, unknown>, approver: { form: 'agent', agent: 'ai:lead' } },
    ...{ requested_by: 'ai:writer', requested_at: day(0), expires_at: day(0.9), status: 'pending' as const },
    ...{ approvals: [], decided_by: null, decided_at: null, remember: null, rest: {} },
    ...{ written_as: null, reads: [], becomes: [], asked: [] },
  };
  return peer.operation(
    {},
    {
      ...{ kind: 'pending.put', namespace: 'team/x', subject: `${peer.peerId}/${id}` },
      payload: pendingKind.payload.text(image),
    },
  );
}

function vote(id = 'asked'): WireOperation {
  const image = {
    ...{ pending_id: id, namespace: 'team/x', agent_id: 'ai:lead', voter: 'ai:lead', rest: {} },
    ...{ decision: 'approve' as const, remember: 'once' as const, voted_at: day(0) },
  };
  return peer.operation(
    {},
    {
      ...{ kind: 'vote.put', namespace: 'team/x', subject: `${id}|ai:lead` },
      payload: voteKind.payload.text(image),
    },
  );
}

/** A node that has the request and the vote, and then becomes the home of both. */
async function adopting(command: object): Promise<ReceiverNode> {
  const one = await openReceiverNode({ peers: [peer.asPeer({ allowedNamespaces: ['team/**'] })] });
  node = one;
  for (const [id, namespace] of [
    ['secret', 'finance'],
    ['note', 'team/x'],
  ] as const)
    assert.ok((await one.services.store.execute(storing({ id, namespace, title: id }))).ok);
  const { json } = await one.send(peer.push(peer.pushOf(request(command), vote())));
  assert.deepEqual([json['applied'], json['parked']], [2, []]);
  const adopted = await one.services.store.execute({ kind: 'adopt-peer', peerId: peer.peerId, by: 'op' });
  assert.ok(adopted.ok);
  return one;
}

const settle = (one: ReceiverNode) =>
  one.services.store.execute({ kind: 'settle-pending', pendingId: 'asked' });

const FORBIDDEN: Readonly<Record<string, () => object>> = {
  'change a row of another namespace': () => ({
    ...updating('secret', { content: 'changed' }),
    viewer: tenant('ai:writer'),
  }),
  'change it as the operator': () => updating('secret', { content: 'changed' }),
  'move a row out of the scope': () => ({
    ...updating('note', { namespace: 'finance' }),
    viewer: tenant('ai:writer'),
  }),
  'delete a row of another namespace': () => ({
    ...{ kind: 'delete-memory', id: 'secret', archive: true, viewer: tenant('ai:writer') },
  }),
  'store in another namespace': () => ({
    ...storing({ id: 'new', namespace: 'finance' }),
    viewer: tenant('ai:writer'),
  }),
  'bind a key': () => ({ kind: 'bind-agent-key', agentId: 'ai:boss', publicKey: 'x' }),
  'set the policy of all': () => ({
    ...{ kind: 'set-standard', namespace: '*', standardId: null, parent: null },
    viewer: { all: true, agentId: null, asNamespace: null },
  }),
};

for (const [name, command] of Object.entries(FORBIDDEN)) {
  it(`they do not ${name}`, async () => {
    const one = await adopting(command());
    const [secret, note] = [await one.memory('secret'), await one.memory('note')];
    const settled = await settle(one);
    assert.ok(!settled.ok);
    const isGated = !['bind a key', 'set the policy of all'].includes(name);
    assert.equal(settled.error.code, isGated ? 'GOVERNANCE_REFUSED' : 'PENDING_ACTION_STATE_INVALID');
    if (isGated) assert.match(settled.error.message, /outside the scope of that node/);
    assert.deepEqual([await one.memory('secret'), await one.memory('note')], [secret, note]);
    assert.equal(await one.memory('new'), null);
  });
}

it('they do what lies in the scope of the peer', async () => {
  const memory = aMemory({
    id: 'new',
    namespace: 'team/x',
    title: 'new',
    metadata: { agent_id: 'ai:writer' },
  });
  const one = await adopting({ ...storing(), memory, viewer: tenant('ai:writer') });
  const settled = await settle(one);
  assert.ok(settled.ok, JSON.stringify(settled));
  assert.equal((await one.memory('new'))?.namespace, 'team/x');
});
