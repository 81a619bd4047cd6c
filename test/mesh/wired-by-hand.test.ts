import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { loadMachineIdentity } from '../../node/identity/machine-key.js';
import type { MeshStatusAnswer } from '../../node/mesh/mesh-answers.js';
import { systemRandom } from '../../node/seams.js';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../support/daemon-process.js';
import { untilAnswer } from '../support/wait.js';
import { run } from '../surface/cli/cli-process.js';

/** Three real daemons that flags and key files alone make a mesh (interface §4.13), without TLS on loopback. */

const KEY = 'a-key-of-the-whole-mesh';
/** For what takes a command or a round of the mesh. */
const PATIENT = { withinMs: 60_000 } as const;

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

const command = (at: Node, ...words: string[]) => run(at.home, words, { env: { SVC_API_KEY: KEY } });

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
      const { wired } = await untilAnswer(
        'all addresses lead to a peer',
        () => statusOf(at),
        (status) => status.wired.every(({ state }) => state === 'attached'),
        PATIENT,
      );
      const others = nodes().filter((peer) => peer !== at);
      assert.deepEqual(
        wired.map(({ url, peer_id }) => [url, peer_id]),
        others.map((peer) => [urlOf(peer), peer.peerId]),
      );
    }
  });

  it('replicate writes, wait for the quorum, and become equal', async () => {
    await untilAnswer(
      'all peers are healthy',
      () => statusOf(one!),
      ({ replication }) => replication?.peers.every(({ state }) => state === 'healthy') === true,
      PATIENT,
    );
    const stored = await ask(one!, '/memories', { title: 'by hand', content: 'wired' });
    assert.deepEqual([stored.status, stored.json['quorum_acks']], [201, 2]);
    await untilAnswer(
      'all three are equal',
      () => statusOf(three!, '?compare=true'),
      ({ compared }) => compared?.length === 2 && compared.every(({ equal }) => equal === true),
      PATIENT,
    );
    const operation = await untilAnswer(
      'all three have the write',
      () => ask(one!, `/mesh/operations/${encodeURIComponent(String(stored.json['id']))}`),
      ({ json }) => json['acks'] === 3,
      PATIENT,
    );
    assert.deepEqual([operation.json['needed'], operation.json['met']], [2, true]);
    // Who is only on this machine, as every client behind a proxy is, learns nothing of the row.
    assert.deepEqual(
      Object.keys(operation.json).sort(),
      ['acknowledgements', 'acks', 'met', 'needed', 'op_id', 'peer_id'].sort(),
    );
  });

  it('take the writes of other processes along, and show them', async () => {
    const stored = await command(two!, 'store', '--title', 'a command', '--content', 'c', '--json');
    assert.equal(stored.code, 0, stored.err);
    const { id } = JSON.parse(stored.out) as { id: string };
    await untilAnswer(
      'the write of the command arrives',
      () => ask(three!, `/memories/${id}`),
      ({ status }) => status === 200,
      PATIENT,
    );
    await untilAnswer(
      'all three have the write of the command',
      () => command(two!, 'mesh', 'op', id, '--port', String(two!.port), '--json'),
      ({ out }) => (JSON.parse(out) as { acks?: number }).acks === 3,
      PATIENT,
    );
    const verified = await command(two!, 'mesh', 'verify', '--port', String(two!.port));
    assert.deepEqual([verified.code, /All 3 nodes are equal/.test(verified.out)], [0, true], verified.out);
    const lines = [one!, three!].map(({ peerId }) => new RegExp(`${peerId} +healthy +0 +0 +0 +-?\\d+ +yes`));
    const shown = await untilAnswer(
      'both peers are shown as healthy and equal',
      () => command(two!, 'mesh', 'status', '--port', String(two!.port)),
      ({ out }) => lines.every((line) => line.test(out)),
      PATIENT,
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
    await untilAnswer(
      'the write that was missed arrives',
      () => ask(two!, `/memories/${String(missed.json['id'])}`),
      ({ status }) => status === 200,
      PATIENT,
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
      const away = await untilAnswer(
        'all addresses are unreachable',
        () => statusOf(at),
        ({ wired }) => wired.every(({ state }) => state === 'unreachable'),
        PATIENT,
      );
      assert.equal(away.wired.length, 3);
      // The quorum is not made smaller because the peers are missing.
      const missed = await ask(at, '/memories', { title: 'waits', content: 'c' });
      assert.deepEqual([missed.status, missed.json['needed']], [202, 2]);
      await start(peer, [urlOf(at)]);
      const stranger = await untilAnswer(
        'the peer answers and is not enrolled',
        () => statusOf(at),
        ({ wired }) => wired[0]!.state === 'not_enrolled',
        PATIENT,
      );
      assert.match(stranger.wired[0]!.problem!, new RegExp(`${peer.peerId}.*identity import`));
      enrol(at, peer);
      enrol(peer, at);
      const found = await untilAnswer(
        'two addresses lead to one peer',
        () => statusOf(at),
        ({ wired }) => wired.some(({ state }) => state === 'duplicate'),
        PATIENT,
      );
      assert.deepEqual(found.wired.map(({ state }) => state).sort(), [
        'attached',
        'duplicate',
        'unreachable',
      ]);
      await untilAnswer(
        'the write that waited arrives',
        () => ask(peer, `/memories/${String(missed.json['id'])}`),
        ({ status }) => status === 200,
        PATIENT,
      );
      await untilAnswer(
        'two addresses are counted as astray',
        async () => (await fetch(`${urlOf(at)}/api/v1/metrics`, { headers: { 'x-api-key': KEY } })).text(),
        (metrics) => /svc_mesh_addresses_astray 2\n/.test(metrics),
        PATIENT,
      );
    } finally {
      await at.daemon?.end('SIGTERM');
      await peer.daemon?.end('SIGTERM');
    }
  });
});
