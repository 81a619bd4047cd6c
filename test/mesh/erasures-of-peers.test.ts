import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { finishErasures } from '../../actors/maintenance/erasures.js';
import { systemCrypto } from '../../node/seams.js';
import { canonicalJson } from '../../protocol/base/canonical-json.js';
import { homeId } from '../../protocol/kinds/home.js';
import type { WireOperation } from '../../protocol/log/wire-operation.js';
import { impliedPayload } from '../../protocol/replication/payloads.js';
import { OPERATOR, storing } from '../support/memories.js';
import { openReceiverNode, type ReceiverNode } from '../support/receiver-node.js';
import { TestPeer } from '../support/test-peer.js';

/** Erasures that other nodes send: by whom they count, and what may not undo them. */
describe('an erasure of a peer', () => {
  const narrow = new TestPeer('a peer with a scope');
  const whole = new TestPeer('a peer without a scope');
  const other = new TestPeer('another peer');
  let node: ReceiverNode;
  let own = '';

  before(async () => {
    node = await openReceiverNode({
      peers: [narrow.asPeer({ allowedNamespaces: ['team/**'] }), whole.asPeer(), other.asPeer()],
    });
    for (const [id, namespace] of [
      ['bank', 'finance'],
      ['safe', 'finance'],
      ['desk', 'team/x'],
    ] as const)
      await run(storing({ id, namespace, title: id, content: `zqtext of ${id}` }));
    const known = await node.services.store.query({ kind: 'known-origins' });
    assert.ok(known.ok);
    own = Object.keys(known.value.heads).find((origin) => origin.startsWith(node.services.peerId))!;
  });
  after(() => node.close());

  async function run(command: object): Promise<void> {
    const result = await node.services.store.execute(command as never);
    assert.ok(result.ok, JSON.stringify(result));
  }
  const push = async (peer: TestPeer, ...operations: readonly WireOperation[]) =>
    (await node.send(peer.push(peer.pushOf(...operations)))).json as {
      applied: number;
      parked: { reason: string }[];
    };
  const erasing = (peer: TestPeer, id: string, namespace: string, more: object = {}): WireOperation =>
    peer.operation(
      {},
      {
        ...{ kind: 'erase', namespace, subject: id, seen: { [own]: 1_000_000 } },
        payload: JSON.stringify({ id, namespace, reason: 'erased', ...more }),
      },
    );
  const texts = async () => {
    const page = await node.services.store.query({
      ...{ kind: 'read-operations', have: {}, limit: 1000, bytesMax: 1e7 },
    } as never);
    assert.ok(page.ok);
    return JSON.stringify(page.value);
  };
  const erasures = async () => {
    const found = await node.services.store.query({
      ...{
        kind: 'find-records',
        of: 'erasure',
        viewer: OPERATOR,
        now: '2026-01-01T00:00:00.000Z',
        limit: 10,
      },
    } as never);
    assert.ok(found.ok);
    return JSON.stringify(found.value);
  };

  it('counts for nothing outside the scope of the peer, whatever its header says', async () => {
    for (const [id, namespace] of [
      ['bank', 'finance'],
      ['bank', 'team/x'],
    ] as const) {
      const { applied, parked } = await push(narrow, erasing(narrow, id, namespace));
      assert.deepEqual([applied, parked.map(({ reason }) => reason)], [0, ['out_of_scope']]);
    }
    assert.equal((await node.memory('bank'))?.content, 'zqtext of bank');
    assert.match(await texts(), /zqtext of bank/);
    assert.doesNotMatch(await erasures(), /bank/);
  });

  it('counts for nothing in the name of another node', async () => {
    const forged = erasing(other, 'bank', 'finance');
    const { seq, hash } = other.head();
    const heads = [whole.sign({ origin: other.origin, seq, hash })];
    const { json } = await node.send(whole.push(whole.pushBody({ operations: [forged], heads })));
    assert.notEqual(json['applied'], 1, JSON.stringify(json));
    assert.equal((await node.memory('bank'))?.content, 'zqtext of bank');
  });

  it('takes the text also where it hides one of its own', async () => {
    await push(whole, erasing(whole, 'safe', 'finance', { note: 'zqsmuggled' }));
    assert.equal(await node.memory('safe'), null);
    assert.doesNotMatch(await texts(), /zqtext of safe/);
    assert.match(await erasures(), /safe/);
  });

  it('is not undone by a later text, seen or unseen, nor by a row of an older peer', async () => {
    const late = [
      whole.operation(
        { id: 'safe', namespace: 'finance', title: 'safe', content: 'zqlate one' },
        { kind: 'update', seen: { [own]: 1_000_000 } },
      ),
      whole.operation(
        { id: 'safe', namespace: 'finance', title: 'safe', content: 'zqlate two' },
        { seen: {} },
      ),
    ];
    await push(whole, ...late);
    const row = { id: 'safe', title: 'safe', content: 'zqlate three', namespace: 'finance' };
    const { json } = await node.send(other.push(other.pushBody({ memories: [row] })));
    assert.match(JSON.stringify(json), /ERASED|erased/);
    assert.equal(await node.memory('safe'), null);
    assert.doesNotMatch(await texts(), /zqlate/);
  });

  it('reaches a node that lost the namespace by its header alone, and from nobody who may not write there', async () => {
    const bare = (peer: TestPeer, id: string, namespace: string): WireOperation => {
      const payloadHash = systemCrypto.sha256Hex(impliedPayload({ kind: 'erase', subject: id, namespace })!);
      const said = { kind: 'erase', namespace, subject: id, seen: { [own]: 1_000_000 } };
      return peer.operation({}, { ...said, payload: null, payloadHash });
    };
    const refused = await push(narrow, bare(narrow, 'bank', 'finance'));
    assert.equal(refused.applied, 0, JSON.stringify(refused));
    await push(narrow, bare(narrow, 'bank', 'team/x'));
    assert.equal((await node.memory('bank'))?.content, 'zqtext of bank');
    assert.equal((await push(whole, bare(whole, 'bank', 'finance'))).applied, 1);
    assert.equal(await node.memory('bank'), null);
    assert.doesNotMatch(await texts(), /zqtext of bank/);
    assert.match(await erasures(), /"memory_id":"bank"[^}]*"outside":1|"outside":1[^}]*"memory_id":"bank"/);
  });

  it('is not done here while an action of another node holds a text of it', async () => {
    const [pending_id, at] = ['5e1f0a52-9d3c-4d1e-8f6b-2a7c9b0d4e31', '2026-01-01T00:00:00.000Z'];
    const subject = homeId(whole.peerId as never, pending_id);
    const action = (kind: string, payload: object): WireOperation =>
      whole.operation({}, { kind, namespace: 'team/x', subject, payload: canonicalJson(payload) });
    const row = { id: 'desk', namespace: 'team/x', title: 'desk', content: 'zqtext of desk' };
    const waiting = {
      ...{ action_type: 'restore', approvals: [], approver: { form: 'human' }, memory_id: 'desk' },
      ...{ asked: [{ gate: 'write', namespace: 'team/x' }], namespace: 'team/x', pending_id },
      becomes: [{ ...row, owner: 'ai:a', scope: null, tier: 'mid' }],
      command: { kind: 'restore-memory', id: 'desk' },
      ...{ decided_at: null, decided_by: null, expires_at: '2099-01-01T00:00:00.000Z', reads: [] },
      ...{ remember: null, requested_at: at, requested_by: 'ai:a', status: 'pending' },
    };
    assert.equal((await push(whole, action('pending.put', waiting))).applied, 1);
    await push(whole, erasing(whole, 'desk', 'team/x'));
    assert.match(await texts(), /zqtext of desk/);
    const finish = async () => {
      const { store, clock } = node.services;
      const finished = await finishErasures({ store, clock, removeFiles: () => null }, at, 10_000);
      return finished.ok ? finished.value : finished.error.code;
    };
    const isDone = async () => !/"finished_at":null/.test(await erasures());
    assert.deepEqual([await finish(), await isDone()], ['waits', false]);
    await push(whole, action('pending.drop', { id: subject, namespace: 'team/x', reason: 'erased' }));
    assert.deepEqual([await finish(), await isDone()], ['done', true]);
    assert.doesNotMatch(await texts(), /zqtext of desk/);
  });

  it('is done on a node only when that node says so: no other says it for it', async () => {
    const done = (peer_id: string, header: string) =>
      whole.operation(
        {},
        {
          ...{ kind: 'erasure_done.put', namespace: header, subject: homeId(peer_id as never, 'safe') },
          payload: JSON.stringify({
            ...{ done_at: '2026-01-01T00:00:00.000Z', memory_id: 'safe', namespace: header, peer_id },
          }),
        },
      );
    for (const peer_id of [node.services.peerId, other.peerId]) {
      const { applied, parked } = await push(whole, done(peer_id, 'finance'));
      assert.deepEqual([applied, parked.map(({ reason }) => reason)], [0, ['not_home']]);
    }
  });
});
