import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { PeerClient } from '../../actors/mesh/peer-client.js';
import { systemClock, systemRandom } from '../../node/seams.js';
import { PULL_PATH, RANGES_PATH } from '../../protocol/wire/message-paths.js';
import type { PeerRequest, ReceivedMessage } from '../../protocol/wire/transport.js';
import { openReceiverNode, type ReceiverNode } from '../support/receiver-node.js';
import { TestPeer } from '../support/test-peer.js';

const peer = new TestPeer('the sender');
let node: ReceiverNode;
afterEach(() => node.close());

const open = async () => {
  node = await openReceiverNode({ peers: [peer.asPeer()] });
  return node.services.peerId;
};
const refusal = async (message: ReceivedMessage) => (await node.send(message)).json['code'] ?? null;
const sentAt = new Date().toISOString();
const pullOf = (receiver?: string) => ({
  ...{ sender_wall_clock: sentAt, receiver, have: {}, limit: 1 },
  ...{ origins: null, place: false, stubs: false },
});
const ranges = (receiver?: string) => ({
  sender_wall_clock: sentAt,
  receiver,
  ask: { kind: 'operations', places: [] },
});

/** Each message of a peer, for a receiver. */
const messages: readonly (readonly [string, (receiver?: string) => ReceivedMessage])[] = [
  ['a pull', (to) => peer.pull(`cursor=${to === undefined ? '' : `&to=${to}`}`)],
  ['an old pull', (to) => peer.pull(`since=${to === undefined ? '' : `&to=${to}`}`)],
  ['a long pull', (to) => peer.post(PULL_PATH, pullOf(to))],
  ['a push', (to) => peer.push(peer.pushBody(to === undefined ? {} : { receiver: to }))],
  ['a question about ranges', (to) => peer.post(RANGES_PATH, ranges(to))],
];

describe('a message that was made for another node', () => {
  for (const [what, made] of messages) {
    it(`is refused: ${what}`, async () => {
      const self = await open();
      assert.equal(await refusal(made('peer-0000000000000001')), 'x_memory_receiver_mismatch');
      assert.equal(await refusal(made()), null, 'a release that names no receiver');
      assert.equal(await refusal(made(self)), null);
      assert.equal(await refusal(made()), 'x_memory_receiver_missing', 'it has named one before');
    });
  }
});

describe('a node that asks its peers', () => {
  it('names the receiver under each signature', async () => {
    const self = await open();
    const sent: PeerRequest[] = [];
    const client = new PeerClient({
      self: peer,
      transport: {
        send: async (_peer, request) => {
          sent.push(request);
          return { kind: 'timeout', message: 'no answer' };
        },
      },
      clock: systemClock,
      random: systemRandom,
      requestTimeoutMs: 1000,
    });
    const to = peer.asPeer({ peerId: self, url: 'http://x' });
    await client.pull(to, {}, 1);
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`${peer.peerId}/${at}`, at]));
    await client.pull(to, many, 1);
    await client.ask(to, { kind: 'operations', places: [] }, () => null);
    for (const request of sent) {
      const message = { ...request, body: request.body ?? new Uint8Array(0), fingerprint: null };
      assert.equal(await refusal(message), null);
      // From now on each of them must.
      assert.equal(await refusal(peer.pull('cursor=')), 'x_memory_receiver_missing');
    }
    assert.equal(sent.length, 3);
  });
});
