import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openReceiverNode } from '../support/receiver-node.js';
import { TestPeer } from '../support/test-peer.js';

it('an operation whose header holds half a character is refused, since the log could not keep it', async () => {
  const peer = new TestPeer('sender');
  const node = await openReceiverNode({ peers: [peer.asPeer()] });
  try {
    for (const change of [
      { subject: 'x\ud800' },
      { kind: 'k\udc00' },
      { namespace: 'n\ud800' },
      { seen: { 'peer-a\ud800/e': 1 } },
    ]) {
      const sender = new TestPeer('sender', undefined, `epoch-${Object.keys(change)[0]}`);
      const { status, json } = await node.send(sender.push(sender.pushOf(sender.operation({}, change))));
      assert.equal(status, 200);
      assert.equal((json['refused'] as unknown[]).length, 1, JSON.stringify([change, json]));
      assert.deepEqual(json['parked'], []);
    }
  } finally {
    await node.close();
  }
});
