// Runs alone: it measures time.
import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { loadMachineIdentity } from '../../node/identity/machine-key.js';
import { systemRandom } from '../../node/seams.js';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../support/daemon-process.js';
import { TestPeer } from '../support/test-peer.js';
import { untilAnswer } from '../support/wait.js';

const ORIGINS = 5000;
const PER_PUSH = 1000;
const ROWS = 40;

interface Node {
  readonly home: string;
  readonly port: number;
  readonly peerId: string;
}

async function makeNode(): Promise<Node> {
  const home = temporaryFolder('h5');
  const { peerId } = loadMachineIdentity(join(home, 'keys'), systemRandom);
  return { home, port: await freePort(), peerId };
}

const enrol = (at: Node, peer: Node) =>
  copyFileSync(join(peer.home, 'keys', 'daemon.pub'), join(at.home, 'keys', `${peer.peerId}.pub`));
const start = (at: Node, peer: Node): Promise<DaemonProcess> =>
  startDaemonProcess(at.home, at.port, {}, ['--quorum-peers', `http://127.0.0.1:${peer.port}`]);

/** Pushes header-only operations, each the first of an origin that the peer made up. */
async function flood({ base }: DaemonProcess): Promise<number> {
  const flooder = new TestPeer('flooder');
  let refused = 0;
  for (let first = 0; first < ORIGINS; first += PER_PUSH) {
    const chains = Array.from({ length: PER_PUSH }, (_, at) => {
      const epoch = (first + at).toString(16).padStart(16, '0');
      return new TestPeer(flooder.signer, flooder.peerId, epoch);
    });
    const operations = chains.map((chain) => ({ ...chain.operation(), payload: null }));
    const body = flooder.pushBody({ operations, heads: chains.map((chain) => chain.head()) });
    const message = flooder.push(body);
    const response = await fetch(`${new URL(base).origin}${message.path}`, {
      method: 'POST',
      headers: message.headers as Record<string, string>,
      body: Buffer.from(message.body),
    });
    const answer = (await response.json()) as { refused?: readonly unknown[] };
    assert.equal(response.status, 200, JSON.stringify(answer));
    refused += answer.refused?.length ?? 0;
  }
  return refused;
}

it('a node that a peer flooded with 5,000 origins catches up from another peer', {
  timeout: 120_000,
}, async (context) => {
  const [flooded, healthy] = [await makeNode(), await makeNode()];
  enrol(flooded, healthy);
  enrol(healthy, flooded);
  new TestPeer('flooder').enrol(join(flooded.home, 'keys'));
  let one = await start(flooded, healthy);
  const two = await start(healthy, flooded);
  try {
    const refused = await flood(one);
    assert.ok(refused >= ORIGINS - 256, `${refused} origins were refused`);
    assert.equal(await one.end('SIGTERM'), 0);
    const rows = Array.from({ length: ROWS }, (_, n) => ({
      title: `missed ${n}`,
      content: 'written meanwhile',
    }));
    const stored = await fetch(`${two.base}/memories/bulk`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(rows),
    });
    assert.equal(stored.status, 200, await stored.text());
    const begun = performance.now();
    one = await start(flooded, healthy);
    await untilAnswer(
      'the flooded node has what it missed',
      async () => (await (await fetch(`${one.base}/memories?limit=100`)).json()) as { count: number },
      ({ count }) => count >= ROWS,
      { withinMs: 60_000 },
    );
    context.diagnostic(
      `${refused} origins refused; caught up after ${Math.round(performance.now() - begun)} ms`,
    );
  } finally {
    await one.end('SIGTERM');
    await two.end('SIGTERM');
  }
});
