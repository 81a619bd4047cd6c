// Runs alone: it measures time.
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { PeerClient } from '../../actors/mesh/peer-client.js';
import { PeerRecord } from '../../actors/mesh/peer-record.js';
import { systemClock, systemRandom } from '../../node/seams.js';
import { PEER_ORIGINS_MAX } from '../../protocol/base/limits.js';
import type { RefusedOperation } from '../../protocol/wire/bodies.js';
import { PULL_PATH, SINCE_PATH } from '../../protocol/wire/message-paths.js';
import { parsePull } from '../../protocol/wire/pull-question.js';
import type { PeerReply, PeerRequest } from '../../protocol/wire/transport.js';
import { FakeScheduler } from '../actors/fake-scheduler.js';
import { keptLog } from '../support/mesh.js';
import { openReceiverNode, type ReceiverNode } from '../support/receiver-node.js';
import { TestPeer } from '../support/test-peer.js';

const hex = (number: number) => number.toString(16).padStart(16, '0');
const peer = new TestPeer('many origins');
const under = (epoch: string) => new TestPeer('many origins', undefined, epoch);

let node: ReceiverNode;

/** Pushes the first operation of each epoch; answers with the refused ones. */
async function pushEpochs(epochs: readonly string[]) {
  const made = epochs.map(under).map((each) => ({ operation: each.operation(), head: each.head() }));
  const { json } = await node.send(
    peer.push(
      peer.pushBody({
        operations: made.map(({ operation }) => operation),
        heads: made.map(({ head }) => head),
      }),
    ),
  );
  return { applied: json['applied'], refused: json['refused'] as RefusedOperation[] };
}

describe('origins of a peer', () => {
  afterEach(() => node.close());

  it('need a short and plain epoch', async () => {
    node = await openReceiverNode({ peers: [peer.asPeer()] });
    for (const epoch of ['x'.repeat(230), `${hex(1)}0`, 'ABCDEF0123456789']) {
      const { refused } = await pushEpochs([epoch]);
      assert.deepEqual(refused, [{ origin: `${peer.peerId}/${epoch}`, seq: 1, reason: 'bad_chain' }]);
    }
    assert.equal((await pushEpochs([hex(1)])).applied, 1);
  });

  it('are limited in number, with one warning', async () => {
    const log = keptLog();
    const other = new TestPeer('another');
    node = await openReceiverNode({ peers: [peer.asPeer(), other.asPeer()], log });
    const epochs = Array.from({ length: PEER_ORIGINS_MAX + 10 }, (_, at) => hex(at + 1));
    const { applied, refused } = await pushEpochs(epochs);
    assert.equal(applied, PEER_ORIGINS_MAX);
    assert.deepEqual(
      [refused.length, new Set(refused.map(({ reason }) => reason))],
      [10, new Set(['bad_chain'])],
    );
    await pushEpochs([hex(9999)]);
    assert.equal(log.lines.filter(({ level }) => level === 'warn').length, 1);
    const { json } = await node.send(other.push(other.pushOf(other.operation())));
    assert.equal(json['applied'], 1);
  });

  it('can be named in the body of a pull', async () => {
    node = await openReceiverNode({ peers: [peer.asPeer()] });
    await node.send(peer.push(peer.pushOf(peer.operation(), peer.operation())));
    const have = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, at) => [`${peer.peerId}/${hex(at)}`, 7]),
    );
    const { status, json } = await node.send(
      peer.post(PULL_PATH, {
        sender_wall_clock: new Date().toISOString(),
        have: { ...have, [peer.origin]: 1 },
        limit: 10,
        origins: [peer.origin],
        place: true,
        stubs: false,
      }),
    );
    assert.equal(status, 200);
    assert.deepEqual(
      (json['operations'] as { seq: number }[]).map(({ seq }) => seq),
      [2],
    );
    assert.equal(node.contacts.at(-1)!.have, null);
  });
});

describe('a pull with a long cursor', () => {
  const have = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`${peer.peerId}/${hex(at)}`, 7]));
  const refusal = (status: number, code: string): PeerReply => ({
    kind: 'answer',
    status,
    body: Buffer.from(JSON.stringify({ error: 'x', code })),
  });

  async function pulled(cursor: typeof have, answers: readonly PeerReply[]) {
    const sent: PeerRequest[] = [];
    const client = new PeerClient({
      self: peer,
      transport: { send: async (_peer, request) => answers[sent.push(request) - 1]! },
      clock: systemClock,
      random: systemRandom,
      requestTimeoutMs: 1000,
    });
    const answer = await client.pull(peer.asPeer({ url: 'http://x' }), cursor, 1);
    return { sent, cause: answer.ok ? null : answer.cause };
  }

  it('travels as a body, a short one as a query', async () => {
    const { sent } = await pulled(have, [refusal(503, 'OVERLOADED')]);
    assert.deepEqual([sent[0]!.method, sent[0]!.path, sent[0]!.query], ['POST', PULL_PATH, '']);
    const read = parsePull(JSON.parse(Buffer.from(sent[0]!.body!).toString()) as Record<string, unknown>);
    assert.deepEqual(read.ok && read.value.question.have, have);
    const short = await pulled({}, [refusal(503, 'OVERLOADED')]);
    assert.deepEqual([short.sent[0]!.method, short.sent[0]!.path], ['GET', SINCE_PATH]);
  });
});

describe('a peer that answers some messages and refuses others', () => {
  it('is warned of once', () => {
    const log = keptLog();
    const clock = new FakeScheduler(1_700_000_000_000);
    const record = new PeerRecord(peer.asPeer(), {
      clock,
      random: { unit: () => 0.5 },
      log,
      onChange() {},
      onFailed() {},
    });
    const answer = { ok: true, reply: { have: {}, version: '1' }, skewMs: 0, tookMs: 1 } as const;
    for (let round = 0; round < 100; round += 1) {
      record.failed('refused:too_large', 'HTTP 400', false);
      record.answered(answer, false);
    }
    assert.equal(log.lines.length, 1);
    record.failed('timeout', 'no answer', false);
    assert.equal(log.lines.length, 2, 'another cause is news');
  });
});
