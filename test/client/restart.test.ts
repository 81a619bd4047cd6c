import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createClient } from '../../node/client/index.js';
import { startDaemonProcess } from '../support/daemon-process.js';
import { GovernedDaemon } from '../support/governed-daemon.js';

describe('a client of a node that is killed', () => {
  let node: GovernedDaemon;
  before(async () => {
    node = await GovernedDaemon.start({}, startDaemonProcess);
  });
  after(() => node.end());

  it('has its write done once when it sends it again after the restart', async () => {
    const client = createClient({ url: `http://127.0.0.1:${node.port}`, agentId: 'ai:writer', retries: 0 });
    const memory = { title: 'Kept over a kill', content: 'once', on_conflict: 'version', namespace: 'kept' };
    const options = { idempotencyKey: 'the-same-call' };
    const first = await client.call('memory_store', memory, options);
    await node.restart('SIGKILL');
    assert.equal((await client.call('memory_store', memory, options))['id'], first['id']);
    const second = await client.call('memory_store', memory, { idempotencyKey: 'another-call' });
    assert.notEqual(second['id'], first['id']);
    const { memories } = await client.call('memory_list', { namespace: 'kept', limit: 10 });
    assert.deepEqual((memories as { title: string }[]).map(({ title }) => title).sort(), [
      'Kept over a kill',
      'Kept over a kill (2)',
    ]);
  });
});
