import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { freePort, startDaemonProcess, temporaryFolder } from '../support/daemon-process.js';
import { TestPeer } from '../support/test-peer.js';
import { sendTo, useNonces } from './wire-client.js';

it('a replay is refused after 20,000 other nonces and a restart', { timeout: 900_000 }, async () => {
  const home = temporaryFolder('hostile-peer-long');
  const peer = new TestPeer('hostile');
  peer.enrol(join(home, 'keys'));
  const port = await freePort();
  let daemon = await startDaemonProcess(home, port);
  const push = peer.push(peer.pushOf(peer.operation()));
  assert.equal((await sendTo(daemon.base, push)).json?.['applied'], 1);
  await useNonces(daemon.base, peer, 20_000);
  const refused = async () =>
    assert.equal((await sendTo(daemon.base, push)).json?.['code'], 'x_memory_nonce_replay');
  await refused();
  await daemon.end('SIGKILL');
  daemon = await startDaemonProcess(home, port);
  await refused();
  await daemon.end('SIGTERM');
});
