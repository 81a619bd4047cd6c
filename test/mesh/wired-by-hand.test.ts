import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { loadMachineIdentity } from '../../node/identity/machine-key.js';
import type { MeshStatusAnswer } from '../../node/mesh/mesh-terms.js';
import { systemRandom } from '../../node/seams.js';
import {
  cleanEnvironment,
  type DaemonProcess,
  freePort,
  MAIN,
  startDaemonProcess,
  temporaryFolder,
} from '../support/daemon-process.js';

/** Three real daemons that flags and key files alone make a mesh (interface §4.13), without TLS on loopback. */

const KEY = 'a-key-of-the-whole-mesh';

interface Node {
  readonly home: string;
  readonly port: number;
  readonly peerId: string;
  daemon: DaemonProcess | null;
}

async function node(): Promise<Node> {
  const home = temporaryFolder('wired');
  const { peerId } = loadMachineIdentity(join(home, 'keys'), systemRandom);
  return { home, port: await freePort(), peerId, daemon: null };
}

const keyOf = ({ home }: Node) => join(home, 'keys', 'daemon.pub');
const enrol = (at: Node, peer: Node) =>
  copyFileSync(keyOf(peer), join(at.home, 'keys', `${peer.peerId}.pub`));
const urlOf = ({ port }: Node) => `http://127.0.0.1:${port}`;

async function start(at: Node, urls: readonly string[], more: readonly string[] = []): Promise<void> {
  const flags = ['--quorum-peers', urls.join(','), '--quorum-writes', '2', ...more];
  at.daemon = await startDaemonProcess(at.home, at.port, { SVC_API_KEY: KEY }, flags);
}

async function ask(at: Node, path: string, body?: object) {
  const response = await fetch(`${urlOf(at)}/api/v1${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'x-api-key': KEY, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, json: (await response.json()) as Record<string, unknown> };
}

const statusOf = async (at: Node, query = '') =>
  (await ask(at, `/mesh/status${query}`)).json as unknown as MeshStatusAnswer;

/** Waits until something holds of what a call answers. */
async function until<T>(call: () => Promise<T>, holds: (value: T) => boolean): Promise<T> {
  const end = Date.now() + 60_000;
  for (;;) {
    const value = await call();
    if (holds(value)) return value;
    if (Date.now() > end) assert.fail(`it did not come to hold: ${JSON.stringify(value)}`);
    await new Promise((resume) => setTimeout(resume, 20));
  }
}

async function command(at: Node, ...words: string[]): Promise<{ code: number; out: string; err: string }> {
  const env = cleanEnvironment(at.home, { SVC_API_KEY: KEY });
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [MAIN, ...words], { env });
    return { code: 0, out: stdout, err: stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, out: stdout, err: stderr };
  }
}

describe('three daemons that are wired by flags alone', () => {
  let [one, two, three]: Node[] = [] as unknown as [Node, Node, Node];
  const nodes = () => [one!, two!, three!];
  before(async () => {
    [one, two, three] = [await node(), await node(), await node()];
    for (const at of nodes()) for (const peer of nodes()) if (at !== peer) enrol(at, peer);
    await Promise.all(
      nodes().map((at) =>
        start(
          at,
          nodes()
            .filter((peer) => peer !== at)
            .map(urlOf),
        ),
      ),
    );
  });
  after(async () => {
    await Promise.all(nodes().map(({ daemon }) => daemon?.end('SIGTERM')));
  });

  it('find each other by a signed word', async () => {
    for (const at of nodes()) {
      const { wired } = await until(
        () => statusOf(at),
        (status) => status.wired.every(({ state }) => state === 'attached'),
      );
      const others = nodes().filter((peer) => peer !== at);
      assert.deepEqual(
        wired.map(({ url, peer_id }) => [url, peer_id]),
        others.map((peer) => [urlOf(peer), peer.peerId]),
      );
    }
  });

  it('replicate writes, wait for the quorum, and become equal', async () => {
    await until(
      () => statusOf(one!),
      ({ replication }) => replication?.peers.every(({ state }) => state === 'healthy') === true,
    );
    const stored = await ask(one!, '/memories', { title: 'by hand', content: 'wired' });
    assert.deepEqual([stored.status, stored.json['quorum_acks']], [201, 2]);
    await until(
      () => statusOf(three!, '?compare=true'),
      ({ compared }) => compared?.length === 2 && compared.every(({ equal }) => equal === true),
    );
    const operation = await until(
      () => ask(one!, `/mesh/operations/${encodeURIComponent(String(stored.json['id']))}`),
      ({ json }) => json['acks'] === 3,
    );
    assert.deepEqual(
      [operation.json['needed'], operation.json['met'], operation.json['kind']],
      [2, true, 'store'],
    );
  });

  it('take the writes of other processes along, and show them', async () => {
    const stored = await command(two!, 'store', '--title', 'a command', '--content', 'c', '--json');
    assert.equal(stored.code, 0, stored.err);
    const { id } = JSON.parse(stored.out) as { id: string };
    await until(
      () => ask(three!, `/memories/${id}`),
      ({ status }) => status === 200,
    );
    await until(
      () => command(two!, 'mesh', 'op', id, '--port', String(two!.port), '--json'),
      ({ out }) => (JSON.parse(out) as { acks?: number }).acks === 3,
    );
    const verified = await command(two!, 'mesh', 'verify', '--port', String(two!.port));
    assert.deepEqual([verified.code, /All 3 nodes are equal/.test(verified.out)], [0, true], verified.out);
    const lines = [one!, three!].map(({ peerId }) => new RegExp(`${peerId} +healthy +0 +0 +0 +-?\\d+ +yes`));
    const shown = await until(
      () => command(two!, 'mesh', 'status', '--port', String(two!.port)),
      ({ out }) => lines.every((line) => line.test(out)),
    );
    assert.match(shown.out, /PEER +STATE +LAG OPS +LAG S +DLQ/);
  });

  it('say so when a node is away: 202 of the write, exit code 1 of verify', async () => {
    await Promise.all([two!, three!].map(({ daemon }) => daemon?.end('SIGTERM')));
    const missed = await ask(one!, '/memories', { title: 'alone', content: 'c' });
    assert.equal(missed.status, 202);
    assert.deepEqual([missed.json['quorum_met'], missed.json['acks'], missed.json['needed']], [false, 1, 2]);
    const verified = await command(one!, 'mesh', 'verify', '--port', String(one!.port), '--json');
    assert.equal(verified.code, 1);
    assert.equal((JSON.parse(verified.out) as { equal: boolean }).equal, false);
    const op = await command(
      one!,
      'mesh',
      'op',
      String(missed.json['op_id']),
      '--port',
      String(one!.port),
      '--json',
    );
    const { acks, met } = JSON.parse(op.out) as { acks: number; met: boolean };
    assert.deepEqual([acks, met], [1, false]);
    await start(two!, [urlOf(one!), urlOf(three!)]);
    await until(
      () => ask(two!, `/memories/${String(missed.json['id'])}`),
      ({ status }) => status === 200,
    );
  });
});

describe('an address that leads to no peer', () => {
  it('is refused at the start when it is given twice or is the own one', async () => {
    const at = await node();
    const own = `http://localhost:${at.port}`;
    for (const urls of [
      'http://127.0.0.1:1/,http://127.0.0.1:1',
      'https://A.example,https://a.example:443',
      own,
    ]) {
      const { code, err } = await command(at, 'serve', '--port', String(at.port), '--quorum-peers', urls);
      assert.equal(code, 78, err);
      assert.match(err, /twice|itself/);
    }
  });

  it('is a state that says why, until the peer is enrolled', async () => {
    const [at, peer] = [await node(), await node()];
    const other = `http://localhost:${peer.port}`;
    const nobody = `http://127.0.0.1:${await freePort()}`;
    await start(at, [urlOf(peer), other, nobody]);
    try {
      const away = await until(
        () => statusOf(at),
        ({ wired }) => wired.every(({ state }) => state === 'unreachable'),
      );
      assert.equal(away.wired.length, 3);
      // The quorum is not made smaller because the peers are missing.
      const missed = await ask(at, '/memories', { title: 'waits', content: 'c' });
      assert.deepEqual([missed.status, missed.json['needed']], [202, 2]);
      await start(peer, [urlOf(at)]);
      const stranger = await until(
        () => statusOf(at),
        ({ wired }) => wired[0]!.state === 'not_enrolled',
      );
      assert.match(stranger.wired[0]!.problem!, new RegExp(`${peer.peerId}.*identity import`));
      enrol(at, peer);
      enrol(peer, at);
      const found = await until(
        () => statusOf(at),
        ({ wired }) => wired.some(({ state }) => state === 'duplicate'),
      );
      assert.deepEqual(found.wired.map(({ state }) => state).sort(), [
        'attached',
        'duplicate',
        'unreachable',
      ]);
      await until(
        () => ask(peer, `/memories/${String(missed.json['id'])}`),
        ({ status }) => status === 200,
      );
      await until(
        async () => (await fetch(`${urlOf(at)}/api/v1/metrics`, { headers: { 'x-api-key': KEY } })).text(),
        (metrics) => /svc_mesh_addresses_astray 2\n/.test(metrics),
      );
    } finally {
      await at.daemon?.end('SIGTERM');
      await peer.daemon?.end('SIGTERM');
    }
  });
});
