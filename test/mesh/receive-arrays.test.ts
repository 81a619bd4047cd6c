import assert from 'node:assert/strict';
import { after, afterEach, describe, it } from 'node:test';
import { signWrite } from '../../node/identity/sign-write.js';
import { systemCrypto } from '../../node/seams.js';
import { canonicalJson } from '../../protocol/base/canonical-json.js';
import { signalEnvelopeBytes } from '../../protocol/coordination/signed.js';
import type { PutAside } from '../../protocol/decide/deciding.js';
import { linkEnvelopeBytes } from '../../protocol/links/link-envelope.js';
import { memoryJson } from '../../protocol/memory/memory.js';
import type { Standard } from '../../protocol/memory/standard-kind.js';
import type { Peer } from '../../protocol/peers/peer.js';
import { pendingKind } from '../../protocol/policies/pending-kind.js';
import { voteKind } from '../../protocol/policies/vote-kind.js';
import type { Store } from '../../storage/port.js';
import { aMemory, OPERATOR, storing } from '../support/memories.js';
import { openReceiverNode, type ReceiverNode } from '../support/receiver-node.js';
import { agentKey } from '../support/signing.js';
import { TestPeer } from '../support/test-peer.js';

/** Senders that know no operations: the arrays of reference-federation §1.4, and `since` without a cursor. */

const peer = new TestPeer('old', 'ai:old-style@host');
let opened: ReceiverNode[] = [];
const closeAll = async () => {
  for (const node of opened) await node.close();
  opened = [];
};
afterEach(closeAll);
after(closeAll);

async function open(fields: Partial<Peer> = {}): Promise<ReceiverNode> {
  const node = await openReceiverNode({ peers: [peer.asPeer(fields)] });
  opened.push(node);
  return node;
}

const push = async (node: ReceiverNode, arrays: Record<string, unknown>) => {
  const { status, json } = await node.send(peer.push(peer.pushBody(arrays)));
  assert.equal(status, 200, JSON.stringify(json));
  return json;
};
const sums = (json: Record<string, unknown>) => [json['applied'], json['noop'], json['skipped']];
const row = (fields: Parameters<typeof aMemory>[0] = {}) =>
  memoryJson(aMemory({ metadata: { agent_id: peer.peerId }, ...fields }));

describe('memories', () => {
  it('are stored with their ids and instants, the second time nothing happens', async () => {
    const node = await open();
    const memory = row({ title: 'sent', updated_at: '2026-02-02T00:00:00.000Z' });
    const body = { memories: [{ ...memory, from_the_future: 1 }] };
    assert.deepEqual(sums(await push(node, body)), [1, 0, 0]);
    const stored = await node.memory(memory['id'] as string);
    assert.deepEqual([stored?.title, stored?.updated_at], ['sent', '2026-02-02T00:00:00.000Z']);
    const before = await node.counts();
    assert.deepEqual(sums(await push(node, body)), [0, 1, 0]);
    assert.deepEqual(await node.counts(), before);
  });

  it('that cannot be read are skipped, name why, and cost the others nothing', async () => {
    const node = await open();
    const good = row({ title: 'good' });
    const json = await push(node, { memories: [null, { title: 'x' }, good, { ...row(), id: '../x' }] });
    assert.deepEqual(sums(json), [1, 0, 3]);
    const items = json['skipped_items'] as { array: string; index: number; code: string }[];
    assert.deepEqual(
      items.map(({ array, index, code }) => [array, index, code]),
      [0, 1, 3].map((index) => ['memories', index, 'VALIDATION_FAILED']),
    );
    assert.ok(await node.memory(good['id'] as string));
  });

  it('of one title are one row: the newer text stands, the id and the owner stay', async () => {
    const node = await open({ allowedSenderAgentIds: ['ai:other'] });
    const at = (day: number) => `2026-03-0${day}T00:00:00.000Z`;
    const first = row({ title: 'shared', content: 'first', updated_at: at(2), tier: 'long', priority: 3 });
    await push(node, { memories: [first] });
    const older = row({ title: 'shared', content: 'older', updated_at: at(1), priority: 9 });
    await push(node, { memories: [older] });
    const id = first['id'] as string;
    const afterOlder = await node.memory(id);
    assert.deepEqual([afterOlder?.content, afterOlder?.priority, afterOlder?.tier], ['first', 9, 'long']);
    const newer = row({
      title: 'shared',
      content: 'newer',
      updated_at: at(3),
      tier: 'short',
      metadata: { agent_id: 'ai:other' },
    });
    assert.deepEqual(sums(await push(node, { memories: [newer] })), [1, 0, 0]);
    const afterNewer = await node.memory(id);
    assert.deepEqual(
      [afterNewer?.content, afterNewer?.tier, afterNewer?.updated_at, afterNewer?.metadata['agent_id']],
      ['newer', 'long', at(3), peer.peerId],
    );
    assert.equal(await node.memory(newer['id'] as string), null);
  });

  it('in the name of others are the senders, unless its scope or a signature says so', async () => {
    const node = await open({ allowedSenderAgentIds: ['ai:allowed'] });
    const names = ['ai:allowed', 'ai:victim'];
    const rows = names.map((agentId) =>
      row({ title: agentId, metadata: { agent_id: agentId, attest_level: 'agent_attested' } }),
    );
    await push(node, { memories: rows });
    const stored = await Promise.all(rows.map(({ id }) => node.memory(id as string)));
    assert.deepEqual(
      stored.map((memory) => [memory?.metadata['agent_id'], memory?.metadata['attest_level']]),
      [
        ['ai:allowed', 'claimed'],
        [peer.peerId, 'claimed'],
      ],
    );
  });

  it('out of scope, or among the agents, are skipped', async () => {
    const node = await open({ allowedNamespaces: ['team/*', '_agents'] });
    const theirs = storing({ namespace: 'secret', title: 'theirs' });
    assert.ok((await node.services.store.execute(theirs)).ok);
    const json = await push(node, {
      memories: [
        row({ namespace: 'secret', title: 'new' }),
        row({ namespace: 'team/a', id: theirs.memory.id, updated_at: '2027-01-01T00:00:00.000Z' }),
        row({ namespace: '_agents', title: 'agent:ai:x' }),
        row({ namespace: 'team/a', title: 'good' }),
      ],
      deletions: [theirs.memory.id],
      archives: [theirs.memory.id],
    });
    assert.deepEqual(sums(json), [1, 0, 5]);
    assert.equal((await node.memory(theirs.memory.id))?.title, 'theirs');
  });

  it('that were deleted after their last change stay deleted', async () => {
    const node = await open();
    const memory = row({ title: 'gone', updated_at: '2026-03-01T00:00:00.000Z' });
    await push(node, { memories: [memory] });
    assert.equal((await push(node, { deletions: [memory['id']] }))['deleted'], 1);
    assert.deepEqual(sums(await push(node, { memories: [memory] })), [0, 1, 0]);
    assert.equal(await node.memory(memory['id'] as string), null);
    const edited = { ...memory, updated_at: new Date(Date.now() + 60_000).toISOString() };
    assert.deepEqual(sums(await push(node, { memories: [edited] })), [1, 0, 0]);
    assert.ok(await node.memory(memory['id'] as string));
  });
});

describe('the other arrays', () => {
  it('delete, archive, restore and link, each counted', async () => {
    const node = await open();
    const rows = ['a', 'b', 'c'].map((title) => row({ title }));
    const [a, b, c] = rows.map(({ id }) => id as string);
    await push(node, { memories: rows });
    const link = { source_id: a, target_id: b, relation: 'related_to' };
    const json = await push(node, {
      deletions: [c, 'unknown-id', 7],
      archives: [b, 'unknown-id'],
      restores: ['unknown-id'],
    });
    assert.deepEqual([json['deleted'], json['archived'], json['restored']], [1, 1, 0]);
    assert.deepEqual(sums(json), [0, 3, 1]);
    const back = await push(node, { restores: [b], links: [link] });
    assert.deepEqual([back['restored'], back['links_applied'], back['skipped']], [1, 1, 0]);
    assert.deepEqual(sums(await push(node, { links: [link] })), [0, 1, 0]);
    const missing = await push(node, { links: [{ ...link, target_id: c }] });
    assert.deepEqual(sums(missing), [0, 0, 1]);
  });

  it('attest links by the key of who saw them', async () => {
    const node = await open();
    const key = agentKey('ai:seer');
    const agent = aMemory({
      namespace: '_agents',
      title: 'agent:ai:seer',
      metadata: { agent_id: 'ai:seer' },
    });
    const { store } = node.services;
    const registered = await store.execute({
      kind: 'register-agent',
      memory: agent,
      spareId: 'spare',
      viewer: OPERATOR,
      admin: true,
    });
    assert.ok(registered.ok);
    const publicKey = Buffer.from(key.signer.publicKey).toString('base64');
    assert.ok((await store.execute({ kind: 'bind-agent-key', agentId: 'ai:seer', publicKey, by: 'x' })).ok);
    const ends = ['one', 'two', 'three'].map((title) => row({ title }));
    await push(node, { memories: ends });
    const [one, two, three] = ends.map(({ id }) => id as string);
    const facts = {
      source_id: one!,
      target_id: two!,
      relation: 'related_to' as const,
      observed_by: 'ai:seer',
      valid_from: null,
      valid_until: null,
    };
    const signature = Buffer.from(key.signer.sign(linkEnvelopeBytes(facts))).toString('base64');
    const links = [
      { ...facts, signature },
      { ...facts, target_id: three, signature },
      { ...facts, target_id: three, observed_by: 'ai:keyless', signature },
    ];
    const json = await push(node, { links });
    assert.deepEqual([json['links_applied'], json['skipped']], [2, 1]);
    const exported = await store.query({
      kind: 'export-links',
      viewer: OPERATOR,
      now: new Date().toISOString(),
      after: null,
      until: null,
      limit: 10,
    });
    assert.ok(exported.ok);
    const levels = Object.fromEntries(
      exported.value.links.map((link) => [link.target_id, link.attest_level]),
    );
    assert.deepEqual(levels, { [two!]: 'peer_attested', [three!]: 'unsigned' });
  });

  it('of actions and votes are skipped with the reason, and change nothing', async () => {
    const node = await open();
    const ask = (pendingId: string) =>
      node.services.store.execute({
        ...{ kind: 'request-approval', pendingId, action: 'store', namespace: 'team', memoryId: null },
        ...{ approver: { form: 'agent', agent: 'ai:lead' }, requestedBy: 'ai:writer' },
        command: storing({ namespace: 'team', title: pendingId }) as PutAside,
      });
    const asked = await ask('waits');
    assert.ok(asked.ok, JSON.stringify(asked));
    const shown = async () => {
      const found = await node.services.store.query({
        ...{ kind: 'list-pendings', status: null, namespace: null, limit: 10, viewer: OPERATOR },
        now: new Date().toISOString(),
      });
      assert.ok(found.ok);
      return found.value.pending.map(({ pending_id, status, votes }) => [pending_id, status, votes]);
    };
    const before = [await shown(), await node.counts()];
    const memory = row({ title: 'beside them' });
    const json = await push(node, {
      memories: [memory],
      pendings: [
        { id: 'forged', action_type: 'store', namespace: 'team', status: 'approved', payload: memory },
        { id: 'waits', action_type: 'store', namespace: 'team', status: 'approved' },
      ],
      pending_decisions: [
        { id: 'waits', approved: true, decided_by: 'ai:lead' },
        { id: 'unknown', approved: false },
      ],
    });
    assert.deepEqual(sums(json), [1, 0, 4]);
    assert.deepEqual([json['pendings_applied'], json['pending_decisions_applied']], [0, 0]);
    const items = json['skipped_items'] as { array: string; index: number; code: string; error: string }[];
    assert.deepEqual(
      items.map(({ array, index, code }) => [array, index, code]),
      [0, 1]
        .flatMap((at) => [['pendings', at, 'UNAVAILABLE']])
        .concat([0, 1].map((at) => ['pending_decisions', at, 'UNAVAILABLE'])),
    );
    assert.ok(items.every(({ error }) => /send them in "operations"/.test(error)));
    const [pendings, counts] = before as [unknown, { rows: number; operations: number }];
    assert.deepEqual(await shown(), pendings);
    // Only the memory came in.
    assert.deepEqual(await node.counts(), { rows: counts.rows + 1, operations: counts.operations + 1 });
  });

  it('of actions and votes are counted and not looked at in a dry run', async () => {
    const node = await open();
    const before = await node.counts();
    const json = await push(node, { dry_run: true, pendings: [{}, null], pending_decisions: ['x'] });
    assert.deepEqual([...sums(json), json['pendings_applied']], [0, 3, 0, 0]);
    assert.deepEqual(await node.counts(), before);
  });

  it('cannot carry an action, but the log of its node does, and a vote on it', async () => {
    const node = await open();
    const at = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
    const action = {
      ...{ pending_id: 'there', action_type: 'store', namespace: 'team', memory_id: null },
      ...{ command: { ...storing({ namespace: 'team' }) }, approver: { form: 'human' } },
      ...{ requested_by: 'ai:writer', requested_at: at(0), expires_at: at(20), status: 'pending' as const },
      ...{ approvals: [], decided_by: null, decided_at: null, remember: null, rest: {} },
      ...{ written_as: null, reads: [], becomes: [], asked: [] },
    };
    const vote = {
      ...{ pending_id: 'there', namespace: 'team', agent_id: 'ai:lead', voter: 'ai:lead', rest: {} },
      ...{ decision: 'approve' as const, remember: 'once' as const, voted_at: at(0) },
    };
    const sender = new TestPeer('of the log');
    node.roster.list = [sender.asPeer()];
    const put = (kind: string, subject: string, payload: string) =>
      sender.operation({}, { kind, namespace: 'team', subject, payload });
    const sent = sender.pushOf(
      put('pending.put', `${sender.peerId}/there`, pendingKind.payload.text(action)),
      put('vote.put', 'there|ai:lead', voteKind.payload.text(vote)),
    );
    const { status, json } = await node.send(sender.push(sent));
    assert.deepEqual([status, json['applied']], [200, 2], JSON.stringify(json));
    const found = await node.services.store.query({
      ...{ kind: 'list-pendings', status: null, namespace: null, limit: 10, viewer: OPERATOR },
      now: at(0),
    });
    assert.ok(found.ok);
    assert.deepEqual(
      found.value.pending.map(({ pending_id, votes }) => [pending_id, votes]),
      [['there', 1]],
    );
  });

  it('with a vector of another kind leave the row to the background', async () => {
    const node = await open();
    const memory = row();
    const embeddings = [
      { memory_id: memory['id'], model: 'x', dim: 3, vector: [1, 2, 3] },
      { memory_id: 1 },
      null,
    ];
    assert.deepEqual(sums(await push(node, { memories: [memory], embeddings })), [1, 0, 0]);
  });
});

describe('the standards of namespaces', () => {
  const at = (day: number) => `2026-03-0${day}T00:00:00.000Z`;
  const meta = (more: Record<string, unknown> = {}) => ({
    ...{ namespace: 'team', standard_id: null, parent_namespace: 'root', updated_at: at(1) },
    ...more,
  });
  const counts = (json: Record<string, unknown>) => [
    ...[json['namespace_meta_applied'], json['namespace_meta_cleared'], json['noop'], json['skipped']],
  ];
  const standard = async (node: ReceiverNode, namespace = 'team') => {
    const query = { kind: 'read-records', of: 'standard', ids: [namespace] } as const;
    const read = await node.services.store.query(query);
    assert.ok(read.ok);
    return (read.value.records[0]?.image ?? null) as Standard | null;
  };

  it('are set and cleared, each counted, and a second time nothing happens', async () => {
    const node = await open();
    const rules = row({ title: 'rules', namespace: 'team' });
    const body = { memories: [rules], namespace_meta: [meta({ standard_id: rules['id'] })] };
    assert.deepEqual(counts(await push(node, body)), [1, 0, 0, 0]);
    const said = await standard(node);
    assert.deepEqual(
      [said?.standard_id, said?.parent_namespace, said?.set_by, said?.updated_at],
      [rules['id'], 'root', peer.peerId, at(1)],
    );
    const before = await node.counts();
    assert.deepEqual(counts(await push(node, body)), [0, 0, 2, 0]);
    assert.deepEqual(await node.counts(), before);
    assert.deepEqual(counts(await push(node, { namespace_meta_clears: ['team', 'never'] })), [0, 1, 1, 0]);
    assert.equal(await standard(node), null);
    assert.deepEqual(counts(await push(node, { namespace_meta_clears: ['team'] })), [0, 0, 1, 0]);
  });

  it('keep the policy and the author that the node has, which these items do not carry', async () => {
    const node = await open();
    const governance = { write: 'owner' };
    const viewer = { all: false, agentId: 'ai:setter', asNamespace: null };
    const set = { kind: 'set-standard', namespace: 'team', governance, viewer } as const;
    assert.ok((await node.services.store.execute(set)).ok);
    const updated_at = new Date(Date.now() + 60_000).toISOString();
    assert.deepEqual(counts(await push(node, { namespace_meta: [meta({ updated_at })] })), [1, 0, 0, 0]);
    const said = await standard(node);
    assert.deepEqual(
      [said?.governance, said?.set_by, said?.parent_namespace],
      [governance, 'ai:setter', 'root'],
    );
  });

  it('follow the later change, also against a removal', async () => {
    const node = await open();
    await push(node, { namespace_meta: [meta({ updated_at: at(3) })] });
    const older = meta({ parent_namespace: 'older', updated_at: at(2) });
    assert.deepEqual(counts(await push(node, { namespace_meta: [older] })), [0, 0, 1, 0]);
    const newer = meta({ parent_namespace: 'newer', updated_at: at(4) });
    assert.deepEqual(counts(await push(node, { namespace_meta: [newer] })), [1, 0, 0, 0]);
    assert.equal((await standard(node))?.parent_namespace, 'newer');
    await push(node, { namespace_meta_clears: ['team'] });
    assert.deepEqual(counts(await push(node, { namespace_meta: [newer] })), [0, 0, 1, 0]);
    assert.equal(await standard(node), null);
    const since = meta({ updated_at: new Date(Date.now() + 60_000).toISOString() });
    assert.deepEqual(counts(await push(node, { namespace_meta: [since] })), [1, 0, 0, 0]);
  });

  it('keep to the scope of their sender', async () => {
    const node = await open({ allowedNamespaces: ['team', 'team/**'] });
    const theirs = storing({ namespace: 'secret', title: 'theirs' });
    const set = { kind: 'set-standard', namespace: 'secret', standardId: theirs.memory.id } as const;
    assert.ok((await node.services.store.execute(theirs)).ok);
    assert.ok((await node.services.store.execute({ ...set, parent: null, viewer: OPERATOR })).ok);
    const json = await push(node, {
      namespace_meta: [
        meta({ namespace: 'secret', updated_at: new Date(Date.now() + 60_000).toISOString() }),
        meta({ standard_id: theirs.memory.id }),
        meta({ namespace: 'team/a', future_member: 1 }),
      ],
      namespace_meta_clears: ['secret'],
    });
    assert.deepEqual(counts(json), [1, 0, 0, 3]);
    const codes = (json['skipped_items'] as { code: string }[]).map(({ code }) => code);
    assert.deepEqual(codes, ['FORBIDDEN', 'FORBIDDEN', 'FORBIDDEN']);
    assert.equal((await standard(node, 'secret'))?.standard_id, theirs.memory.id);
    assert.equal((await standard(node))?.namespace, undefined);
  });

  it('cannot be set or cleared by operations under the name of a namespace in scope', async () => {
    const scoped = new TestPeer('scoped');
    const other = { ...scoped.asPeer({ allowedNamespaces: ['team'] }) };
    const node = await openReceiverNode({ peers: [other] });
    opened.push(node);
    const set = { kind: 'set-standard', namespace: 'secret', standardId: null, parent: 'root' } as const;
    assert.ok((await node.services.store.execute({ ...set, viewer: OPERATOR })).ok);
    const log = await node.services.store.query({ kind: 'log-position' });
    assert.ok(log.ok);
    const { peerId, dbEpoch, originSeq } = log.value;
    const image = { ...meta({ namespace: 'secret' }), set_by: null };
    const header = { namespace: 'team', subject: 'secret', seen: { [`${peerId}/${dbEpoch}`]: originSeq } };
    const drop = { id: 'secret', namespace: 'team', reason: 'clear' };
    const operations = [
      scoped.operation({}, { ...header, kind: 'standard.put', payload: canonicalJson(image) }),
      scoped.operation({}, { ...header, kind: 'standard.drop', payload: canonicalJson(drop) }),
    ];
    const { status, json } = await node.send(scoped.push(scoped.pushOf(...operations)));
    assert.equal(status, 200);
    const reasons = (json['parked'] as { reason: string }[]).map(({ reason }) => reason);
    assert.deepEqual(reasons, ['out_of_scope', 'out_of_scope'], JSON.stringify(json));
    assert.equal((await standard(node, 'secret'))?.parent_namespace, 'root');
  });

  it('that cannot be are skipped and say why', async () => {
    const node = await open();
    const json = await push(node, {
      namespace_meta: [
        ...[null, {}, meta({ namespace: 'a//b' }), meta({ updated_at: 'yesterday' })],
        ...[meta({ parent_namespace: null }), meta({ parent_namespace: 'team' })],
        meta({ standard_id: 'not-here' }),
      ],
      namespace_meta_clears: [7, 'a//b'],
    });
    assert.deepEqual(counts(json), [0, 0, 0, 9]);
    const codes = (json['skipped_items'] as { code: string }[]).map(({ code }) => code);
    assert.deepEqual(new Set(codes.toSpliced(6, 1)), new Set(['VALIDATION_FAILED']));
    assert.equal(codes[6], 'NOT_FOUND');
  });
});

describe('since', () => {
  const since = async (node: ReceiverNode, query: string) => {
    const { status, json } = await node.send(peer.pull(query));
    assert.equal(status, 200, JSON.stringify(json));
    return json;
  };
  const titles = (json: Record<string, unknown>) =>
    (json['memories'] as { title: string }[]).map(({ title }) => title);
  const at = (second: number) => new Date(Date.UTC(2026, 3, 1, 0, 0, second)).toISOString();
  const put = async (node: ReceiverNode, ...fields: readonly Parameters<typeof aMemory>[0][]) => {
    for (const each of fields) assert.ok((await node.services.store.execute(storing(each))).ok);
  };

  it('pages by the last change, and never between rows of one instant', async () => {
    const node = await open();
    await put(
      node,
      ...[1, 2, 3, 3, 3, 4].map((second, index) => ({ title: `row ${index}`, updated_at: at(second) })),
    );
    const first = await since(node, 'limit=3');
    assert.equal(first['count'], 5);
    assert.deepEqual(titles(first).toSorted(), ['row 0', 'row 1', 'row 2', 'row 3', 'row 4']);
    assert.deepEqual([first['earliest_updated_at'], first['latest_updated_at']], [at(1), at(3)]);
    const next = await since(node, `limit=3&since=${first['latest_updated_at']}`);
    assert.deepEqual(titles(next), ['row 5']);
    assert.deepEqual(titles(await since(node, `since=${at(4)}`)), []);
  });

  it('keeps to the scope of its peer, and private rows to whom they concern', async () => {
    const node = await open({ allowedNamespaces: ['team/**'] });
    const secret = { scope: 'private', agent_id: 'ai:writer' };
    await put(
      node,
      { title: 'elsewhere', namespace: 'other' },
      { title: 'open', namespace: 'team/a' },
      { title: 'private', namespace: 'team/a', metadata: secret },
      { title: 'odd', namespace: 'team/a', metadata: { ...secret, scope: 'whatever' } },
      { title: 'shared', namespace: 'team/a', metadata: { ...secret, federation_share: true } },
      { title: 'own', namespace: 'team/a', metadata: { ...secret, agent_id: peer.peerId } },
      { title: 'for it', namespace: 'team/a', metadata: { ...secret, target_agent_id: peer.peerId } },
      { title: 'shared elsewhere', namespace: 'other', metadata: { ...secret, federation_share: true } },
    );
    const json = await since(node, '');
    assert.deepEqual(titles(json).toSorted(), ['for it', 'open', 'own', 'shared']);
    assert.deepEqual(
      [json['excluded_for_scope'], json['excluded_for_scope_private'], json['scope_status']],
      [2, 2, 'scoped'],
    );
  });

  it('looks behind rows out of scope for those within', async () => {
    const node = await open({ allowedNamespaces: ['team'] });
    const others = Array.from({ length: 30 }, (_, index) => ({ title: `${index}`, updated_at: at(1) }));
    await put(node, ...others, { title: 'within', namespace: 'team', updated_at: at(2) });
    assert.deepEqual(titles(await since(node, 'limit=2')), ['within']);
  });

  it('looks behind many rows of one instant in few looks, however small the page is', async () => {
    let looks = 0;
    const counted = (store: Store): Store => ({
      execute: (command, options) => store.execute(command, options),
      query: (query, options) => {
        if (query.kind === 'memories-since') looks += 1;
        return store.query(query, options);
      },
      selfCheck: (cursor, options) => store.selfCheck(cursor, options),
      close: () => store.close(),
    });
    const peers = [peer.asPeer({ allowedNamespaces: ['team'] })];
    const node = await openReceiverNode({ peers, wrap: counted });
    opened.push(node);
    const rows = Array.from({ length: 400 }, (_, index) => ({ title: `${index}`, updated_at: at(1) }));
    await put(node, ...rows, { title: 'within', namespace: 'team', updated_at: at(2) });
    assert.deepEqual(titles(await since(node, 'limit=1')), ['within']);
    assert.ok(looks > 0 && looks < 10, `${looks} looks`);
  });

  it('without a scope is an empty page', async () => {
    const node = await open({ pullDenied: true });
    await put(node, { title: 'x' });
    const json = await since(node, '');
    assert.deepEqual([json['count'], json['scope_status']], [0, 'no_allowlist_default_deny']);
  });

  it('gives signatures along, so that authors can be verified again', async () => {
    const node = await open();
    const key = agentKey('ai:author');
    const signed = signWrite(
      key.signer,
      {
        agentId: 'ai:author',
        namespace: 'global',
        title: 'a title',
        kind: 'observation',
        content: 'some content',
      },
      at(1),
      systemCrypto,
    );
    const public_key = Buffer.from(key.signer.publicKey).toString('base64');
    await put(node, { write_signature: { ...signed, public_key } });
    const json = await since(node, '');
    assert.deepEqual((json['memories'] as { write_signature: unknown }[])[0]?.write_signature, {
      ...signed,
      public_key,
    });
  });
});

describe('signals', () => {
  const at = Math.floor(Date.now() / 1000);
  const said = {
    ...{ id: 'b7f0c1de-0000-4000-8000-000000000001', namespace: 'team', from_agent: 'ai:sender' },
    ...{ to_agent: 'ai:bob', subject: 'ready', body: { z: 1, a: [true] }, signal_type: 'request' },
    ...{ in_reply_to: null, correlation_id: 'c', reference_ids: ['m1'], created_at: at, expires_at: null },
  };
  const bytesOf = (signal: typeof said) =>
    signalEnvelopeBytes(
      {
        ...{ ...signal, signal_id: signal.id, body: canonicalJson(signal.body) },
        created_at: new Date(signal.created_at * 1000).toISOString(),
      },
      systemCrypto,
    );
  const signed = (signal: typeof said, asList = false) => {
    const { publicKey } = peer.signer;
    const signature = peer.signer.sign(bytesOf(signal));
    const shown = (bytes: Uint8Array) => (asList ? [...bytes] : Buffer.from(bytes).toString('base64'));
    return { ...signal, signature: shown(signature), sender_pubkey: shown(publicKey), read_at: null };
  };
  const held = async (node: ReceiverNode) => {
    const find = { kind: 'find-records', of: 'signal', where: { namespace: 'team' }, limit: 9 } as const;
    const found = await node.services.store.query({ ...find, viewer: null, now: '' });
    assert.ok(found.ok);
    return found.value.rows as Record<string, unknown>[];
  };
  const counters = (json: Record<string, unknown>) => [
    json['signals_applied'],
    json['noop'],
    json['skipped'],
  ];

  it('that a member signed are taken, the second time nothing happens', async () => {
    for (const asList of [false, true]) {
      const node = await open();
      const body = { memories: [], signals: [signed(said, asList)] };
      assert.deepEqual(counters(await push(node, body)), [1, 0, 0]);
      assert.deepEqual(counters(await push(node, body)), [0, 1, 0]);
      const [signal, ...others] = await held(node);
      assert.deepEqual(others, []);
      const { signal_id, maker, from_agent, to_agent, body: text, created_at } = signal!;
      assert.deepEqual(
        [signal_id, maker, from_agent, to_agent, text, created_at],
        [
          ...[said.id, node.services.peerId, 'ai:sender', 'ai:bob', '{"a":[true],"z":1}'],
          new Date(at * 1000).toISOString(),
        ],
      );
    }
  });

  it('that cannot be believed are skipped and say why', async () => {
    const node = await open({ allowedNamespaces: ['team', 'team/**'] });
    const { signature: _, ...unsigned } = signed(said);
    const wrong: [unknown, string][] = [
      [unsigned, 'ATTESTATION_FAILED'],
      [{ ...signed(said), subject: 'another' }, 'ATTESTATION_FAILED'],
      [signed({ ...said, namespace: 'finance' }), 'FORBIDDEN'],
      [signed({ ...said, namespace: '_mesh' }), 'VALIDATION_FAILED'],
      [{ ...signed(said), signal_type: 'shout' }, 'VALIDATION_FAILED'],
      ['text', 'VALIDATION_FAILED'],
    ];
    const json = await push(node, { memories: [], signals: wrong.map(([item]) => item) });
    assert.deepEqual(counters(json), [0, 0, wrong.length]);
    const items = json['skipped_items'] as { array: string; code: string }[];
    assert.deepEqual(
      items.map(({ array, code }) => [array, code]),
      wrong.map(([, code]) => ['signals', code]),
    );
    assert.deepEqual(await held(node), []);
    const stranger = new TestPeer('stranger');
    const by = Buffer.from(stranger.signer.sign(bytesOf(said))).toString('base64');
    const key = Buffer.from(stranger.signer.publicKey).toString('base64');
    const strange = { ...said, signature: by, sender_pubkey: key };
    assert.deepEqual(counters(await push(node, { memories: [], signals: [strange] })), [0, 0, 1]);
    assert.deepEqual(await held(node), []);
  });

  it('that have expired change nothing, and transitions of actions are named as those that the log carries', async () => {
    const node = await open();
    const late = { ...signed(said), expires_at: at - 1 };
    const json = await push(node, {
      memories: [],
      signals: [late],
      action_transitions: [{ action_id: 'x' }],
    });
    assert.deepEqual(counters(json), [0, 1, 1]);
    assert.equal(json['action_transitions_applied'], 0);
    const [item] = json['skipped_items'] as { array: string; code: string; error: string }[];
    assert.deepEqual([item!.array, item!.code], ['action_transitions', 'UNAVAILABLE']);
    assert.match(item!.error, /send them in "operations"/);
  });
});
