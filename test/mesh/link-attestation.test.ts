import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import type { Caller } from '../../node/identity/caller.js';
import { OPERATIONS } from '../../node/operations/registry.js';
import { runOperation } from '../../node/pipeline/pipeline.js';
import { type Link, linkId } from '../../protocol/links/link.js';
import { linkEnvelopeBytes } from '../../protocol/links/link-envelope.js';
import { linkKind } from '../../protocol/links/link-kind.js';
import { linking, OPERATOR } from '../support/memories.js';
import { openReceiverNode, type ReceiverNode } from '../support/receiver-node.js';
import { TestPeer } from '../support/test-peer.js';

const nodes: ReceiverNode[] = [];
after(async () => {
  for (const node of nodes) await node.close();
});

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
const CALLER: Caller = {
  ...{ agentId: 'ai:local', claimed: 'explicit', viewer: OPERATOR, admin: true, local: true },
};

/** A node with the memories "from" and "to", which a peer sent. */
async function open(peer: TestPeer): Promise<ReceiverNode> {
  const node = await openReceiverNode({ peers: [peer.asPeer()] });
  // Services of a test node know no other members.
  const isMember = (id: string) => node.roster.find(id)?.state === 'member';
  const opened = { ...node, services: { ...node.services, isMember } };
  nodes.push(node);
  const memories = ['from', 'to'].map((title) => peer.operation({ id: idOf(title), title }));
  await send(opened, peer, memories);
  return opened;
}

const idOf = (title: string) => `00000000-0000-4000-8000-${title === 'from' ? '1' : '2'}00000000000`;

async function send(node: ReceiverNode, peer: TestPeer, operations: ReturnType<TestPeer['operation']>[]) {
  const { status, json } = await node.send(peer.push(peer.pushOf(...operations)));
  assert.equal(status, 200);
  return json;
}

/** The operation of a link that a peer signed with a key. */
function linkBy(peer: TestPeer, change: Partial<Link> = {}, key = peer.signer) {
  const stated = { ...linking(idOf('from'), idOf('to')).link, observed_by: 'ai:far' };
  const signed: Link = {
    ...stated,
    signature: base64(key.sign(linkEnvelopeBytes(stated))),
    attest_level: 'self_signed',
    signed_at: stated.created_at,
    public_key: base64(key.publicKey),
    ...change,
  };
  const payload = linkKind.payload.text(signed);
  const place = { kind: 'link', namespace: 'global', subject: linkId(signed), payload };
  return peer.operation({}, place);
}

async function run(node: ReceiverNode, name: string, input: Record<string, unknown>) {
  const operation = OPERATIONS.find((each) => each.name === name)!;
  const request = { surface: 'http', caller: CALLER, input, unknownFields: 'refuse' } as const;
  const answer = await runOperation(operation, request, node.services);
  assert.ok(answer.ok, JSON.stringify(answer));
  return answer.value;
}

const named = { source_id: idOf('from'), target_id: idOf('to') };
/** How a node shows and verifies the link. */
async function judged(node: ReceiverNode) {
  const { links } = await run(node, 'memory_get_links', { id: named.source_id });
  const [shown] = links as Record<string, unknown>[];
  const { verified, attest_level, signed_by, findings } = await run(node, 'memory_verify', named);
  assert.equal(shown!['attest_level'], attest_level);
  return { verified, attest_level, signed_by, findings };
}

it('is self-signed at the node that made it', async () => {
  const node = await open(new TestPeer('far'));
  const made = await run(node, 'memory_link', named);
  assert.equal(made['attest_level'], 'self_signed');
  assert.deepEqual(await judged(node), {
    ...{ verified: true, attest_level: 'self_signed', signed_by: node.services.peerId, findings: [] },
  });
});

it('is peer-attested after its arrival from the member that signed it', async () => {
  const peer = new TestPeer('far');
  const node = await open(peer);
  assert.deepEqual((await send(node, peer, [linkBy(peer)]))['parked'], []);
  const attested = { verified: true, attest_level: 'peer_attested', signed_by: peer.peerId, findings: [] };
  assert.deepEqual(await judged(node), attested);
  // One that leaves the mesh vouches for nothing any more.
  node.roster.list = [peer.asPeer({ state: 'departed' })];
  const { attest_level, findings } = await judged(node);
  assert.deepEqual(
    [attest_level, findings],
    ['unsigned', ['the key that signed belongs neither to a member of this mesh nor to the observer']],
  );
});

it('is attested by the key of its observer, whoever passed it on', async () => {
  const [peer, observer] = [new TestPeer('far'), new TestPeer('the observer')];
  const node = await open(peer);
  await send(node, peer, [linkBy(peer, {}, observer.signer)]);
  const before = await judged(node);
  assert.deepEqual([before.verified, before.attest_level], [false, 'unsigned']);
  const { store } = node.services;
  const publicKey = base64(observer.signer.publicKey);
  const registered = { kind: 'register-agent', agentId: 'ai:far', agentType: 'ai:generic' } as const;
  await run(node, 'memory_agent_register', {
    agent_id: registered.agentId,
    agent_type: registered.agentType,
  });
  assert.ok((await store.execute({ kind: 'bind-agent-key', agentId: 'ai:far', publicKey, by: 'x' })).ok);
  assert.deepEqual(await judged(node), {
    ...{ verified: true, attest_level: 'peer_attested', signed_by: 'ai:far', findings: [] },
  });
});

it('has no effect when its signature is wrong, and is unsigned when it names no key', async () => {
  const peer = new TestPeer('far');
  const node = await open(peer);
  const reason = async (change: Partial<Link>) =>
    ((await send(node, peer, [linkBy(peer, change)]))['parked'] as { reason: string }[]).map(
      ({ reason }) => reason,
    );
  for (const change of [
    { valid_until: '2030-01-01T00:00:00.000Z' },
    { observed_by: 'ai:else' },
    { signature: base64(new Uint8Array(64)) },
    { signature: null },
    { public_key: base64(new TestPeer('else').signer.publicKey) },
    // A point of small order, under which anybody can sign.
    { public_key: base64(new Uint8Array(32)) },
  ])
    assert.deepEqual(await reason(change), ['bad_signature'], JSON.stringify(change));
  assert.equal(((await run(node, 'memory_get_links', { id: named.source_id }))['links'] as []).length, 0);
  assert.deepEqual(await reason({ public_key: null }), []);
  const { attest_level, findings } = await judged(node);
  assert.deepEqual([attest_level, findings], ['unsigned', ['the key that signed the link is not known']]);
});

it('is kept when it arrives before its ends, and shown once both are there', async () => {
  const [peer, other] = [new TestPeer('far'), new TestPeer('another')];
  const node = await openReceiverNode({ peers: [peer.asPeer(), other.asPeer()] });
  nodes.push(node);
  assert.deepEqual((await send(node, other, [linkBy(other)]))['parked'], []);
  await send(node, peer, [peer.operation({ id: idOf('to'), title: 'to' })]);
  const shown = async (title: string) =>
    ((await run(node, 'memory_get_links', { id: idOf(title) }))['links'] as unknown[]).length;
  assert.equal(await shown('to'), 0);
  await send(node, peer, [peer.operation({ id: idOf('from'), title: 'from' })]);
  assert.deepEqual([await shown('to'), await shown('from')], [1, 1]);
});
