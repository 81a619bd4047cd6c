import assert from 'node:assert/strict';
import { after, afterEach, describe, it } from 'node:test';
import { systemRandom } from '../../node/seams.js';
import { KINDS } from '../../protocol/release.js';
import { signMessage } from '../../protocol/wire/message-signing.js';
import type { ReceivedMessage } from '../../protocol/wire/transport.js';
import { openReceiverNode, type ReceiverNode, type ReceiverNodeOptions } from '../support/receiver-node.js';
import { TestPeer } from '../support/test-peer.js';

const peer = new TestPeer('asker');
const other = new TestPeer('other');
let opened: ReceiverNode[] = [];
async function open(options: Partial<ReceiverNodeOptions> = {}): Promise<ReceiverNode> {
  const node = await openReceiverNode({ peers: [peer.asPeer(), other.asPeer()], ...options });
  opened.push(node);
  return node;
}
const closeAll = async () => {
  for (const node of opened) await node.close();
  opened = [];
};
afterEach(closeAll);
after(closeAll);

function asking(ask: unknown, fields: Record<string, unknown> = {}, headers = {}): ReceivedMessage {
  const said = { sender_agent_id: peer.peerId, sender_wall_clock: new Date().toISOString(), ask, ...fields };
  const body = Buffer.from(JSON.stringify(said));
  const parts = { method: 'POST', path: '/api/v1/mesh/ranges', query: '', body } as const;
  const signed = signMessage({ ...parts, peerId: peer.peerId, signer: peer.signer, random: systemRandom });
  return { ...parts, headers: { ...signed, ...headers }, fingerprint: null };
}
const BUCKETS = { kind: 'buckets', within: null };
/** A question about all buckets of the memories, by a node that has none. */
const NAMESPACES = {
  kind: 'namespaces',
  within: null,
  of: 'memory',
  buckets: Array.from({ length: 256 }, (_, bucket) => bucket),
  after: null,
  upTo: null,
  digests: [],
};
const ZEROS = '0'.repeat(64);

const GLOBAL = { kind: 'memory', namespace: 'global' };

describe('questions about ranges', () => {
  it('are answered to members alone, once, and in time', async () => {
    const node = await open();
    const fine = asking(NAMESPACES);
    assert.equal((await node.send(fine)).status, 200);
    assert.equal((await node.send(fine)).json['code'], 'x_memory_nonce_replay');
    const unsigned = asking(NAMESPACES, {}, { 'x-memory-sig': undefined });
    assert.equal((await node.send(unsigned)).status, 401);
    const changed = { ...asking(NAMESPACES), body: Buffer.from('{}') };
    assert.equal((await node.send(changed)).json['code'], 'x_memory_sig_bad_signature');
    const old = asking(NAMESPACES, { sender_wall_clock: '2020-01-01T00:00:00Z' });
    assert.equal((await node.send(old)).json['code'], 'message_out_of_time');
    const stranger = await open({ peers: [other.asPeer()] });
    assert.equal((await stranger.send(asking(NAMESPACES))).json['code'], 'x_peer_id_not_in_allowlist');
    const pusher = await open({ peers: [peer.asPeer({ pullDenied: true })] });
    assert.equal((await pusher.send(asking(NAMESPACES))).json['code'], 'FORBIDDEN');
  });

  it('of another shape are refused, and change nothing', async () => {
    const node = await open();
    const before = await node.counts();
    for (const ask of [
      undefined,
      {},
      { kind: 'nothing' },
      { kind: 'buckets' },
      { kind: 'buckets', within: 'team' },
      { kind: 'buckets', within: Array.from({ length: 1001 }, () => 'a') },
      { kind: 'namespaces', have: {}, digests: { memory: {} } },
      { ...NAMESPACES, buckets: [256] },
      { ...NAMESPACES, buckets: Array.from({ length: 257 }, () => 1) },
      { ...NAMESPACES, digests: [['global', 'xyz']] },
      { ...NAMESPACES, digests: { global: ZEROS } },
      { kind: 'subjects', of: GLOBAL, ranges: { a: '0'.repeat(64) }, from: 0 },
      { kind: 'subjects', of: GLOBAL, ranges: {}, from: 257 },
      { kind: 'subjects', namespace: 'global', ranges: {}, from: 0 },
      { kind: 'operations', places: [{ origin: 'o', seq: 0 }] },
      { kind: 'operations', places: Array.from({ length: 201 }, () => ({ origin: 'o', seq: 1 })) },
    ])
      assert.equal((await node.send(asking(ask))).json['code'], 'VALIDATION_FAILED', JSON.stringify(ask));
    assert.deepEqual(await node.counts(), before);
  });

  it('compare only the kinds that both name, and show no rows of a kind that is unknown here', async () => {
    const writer = new TestPeer('writer of one memory');
    const node = await open({ peers: [peer.asPeer(), writer.asPeer()] });
    const shown = writer.operation({ namespace: 'open', title: 'shown' });
    assert.equal((await node.send(writer.push(writer.pushOf(shown)))).json['applied'], 1);
    const bucketed = await node.send(asking(BUCKETS));
    const kinds = bucketed.json['buckets'] as Record<string, object>;
    assert.deepEqual(
      Object.entries(kinds).map(([kind, buckets]) => [kind, Object.keys(buckets).length]),
      KINDS.all.map(({ name }) => [name, name === 'memory' ? 1 : 0]),
    );
    const compare = async (fields: object) =>
      (await node.send(asking({ ...NAMESPACES, ...fields }))).json['differing'];
    assert.deepEqual(await compare({}), ['open']);
    assert.deepEqual(await compare({ of: 'link' }), []);
    assert.deepEqual(await compare({ of: 'later' }), []);
    assert.deepEqual(await compare({ buckets: [] }), []);
    assert.deepEqual(await compare({ within: ['elsewhere'] }), []);
    assert.deepEqual(await compare({ after: 'open' }), []);
    assert.deepEqual(await compare({ after: 'opem', upTo: 'open' }), ['open']);
    assert.deepEqual(await compare({ upTo: 'opem' }), []);
    assert.deepEqual(await compare({ digests: [['there', ZEROS]] }), ['open', 'there']);
    const of = { kind: 'later', namespace: 'open' };
    const { status, json } = await node.send(asking({ kind: 'subjects', of, ranges: {}, from: 0 }));
    assert.deepEqual([status, json['subjects'], json['next']], [200, [], null]);
  });

  it('show nothing of what lies outside the scope', async () => {
    const scoped = peer.asPeer({ allowedNamespaces: ['open'] });
    const node = await open({ peers: [scoped, other.asPeer()] });
    const secret = other.operation({ namespace: 'secret', title: 'a secret' });
    const shown = other.operation({ namespace: 'open', title: 'no secret' });
    const pushed = await node.send(other.push(other.pushOf(secret, shown)));
    assert.equal(pushed.json['applied'], 2);
    const shownHere = { kind: 'memory', namespace: 'open' };
    assert.deepEqual((await node.send(asking(NAMESPACES))).json['differing'], ['open']);
    const buckets = async () => (await node.send(asking(BUCKETS))).json;
    const before = await buckets();
    assert.deepEqual(before['within'], ['open']);
    const more = other.operation({ namespace: 'secret', title: 'another secret' });
    assert.equal((await node.send(other.push(other.pushOf(more)))).json['applied'], 1);
    assert.deepEqual((await buckets())['buckets'], before['buckets']);
    const ranges = { kind: 'subjects', ranges: {}, from: 0 };
    const inside = await node.send(asking({ ...ranges, of: shownHere }));
    assert.deepEqual((inside.json['subjects'] as string[][])[0]![0], shown.subject);
    const outside = await node.send(asking({ ...ranges, of: { ...shownHere, namespace: 'secret' } }));
    const nowhere = await node.send(asking({ ...ranges, of: { ...shownHere, namespace: 'nowhere' } }));
    assert.deepEqual(
      [outside.json['subjects'], outside.json['ranges'], outside.json['next']],
      [nowhere.json['subjects'], nowhere.json['ranges'], nowhere.json['next']],
    );
    const places = [1, 2, 4].map((seq) => ({ origin: other.origin, seq }));
    const { json } = await node.send(asking({ kind: 'operations', places }));
    const operations = json['operations'] as { seq: number; payload: string | null }[];
    assert.deepEqual(
      operations.map(({ seq, payload }) => [seq, payload === null]),
      [
        [1, true],
        [2, false],
      ],
    );
    assert.deepEqual(json['withheld'], [{ origin: other.origin, seq: 1 }]);
    assert.ok(!JSON.stringify(json).includes('a secret'));
  });

  it('give no text away for a stub that repeats what is known of another operation', async () => {
    const scoped = peer.asPeer({ allowedNamespaces: ['open'] });
    const writer = new TestPeer('writer of secrets');
    const node = await open({ peers: [scoped, writer.asPeer()] });
    const secret = writer.operation({ namespace: 'secret', title: 'a secret' });
    assert.equal((await node.send(writer.push(writer.pushOf(secret)))).json['applied'], 1);
    // Subject and hash of the secret are in the header that every peer gets.
    const stub = peer.operation(
      { namespace: 'open' },
      { subject: secret.subject, payload: null, payloadHash: secret.payloadHash },
    );
    const pushed = await node.send(peer.push(peer.pushOf(stub)));
    assert.deepEqual(pushed.json['parked'], [
      { op_id: `${peer.origin}/${stub.seq}`, reason: 'out_of_scope' },
    ]);
    const places = [
      { origin: peer.origin, seq: stub.seq },
      { origin: writer.origin, seq: secret.seq },
    ];
    const { status, json } = await node.send(asking({ kind: 'operations', places }));
    assert.equal(status, 200);
    assert.ok(!JSON.stringify(json).includes('a secret'));
    assert.deepEqual(
      (json['operations'] as { payload: string | null }[]).map(({ payload }) => payload),
      [null, null],
    );
  });
});
