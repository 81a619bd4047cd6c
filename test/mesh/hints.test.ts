import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { WebSocket } from 'ws';
import { loadMachineIdentity } from '../../node/identity/machine-key.js';
import type { MeshStatusAnswer } from '../../node/mesh/mesh-answers.js';
import { systemRandom } from '../../node/seams.js';
import { formatHint, parseHint } from '../../protocol/wire/hint.js';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../support/daemon-process.js';
import { TestPeer } from '../support/test-peer.js';
import { event, untilAnswer, within } from '../support/wait.js';

/** Hints of real daemons over real WebSockets: they save time, and nothing depends on them. */

/** Without hints, a node that cannot be called hears of news only so often. */
const ROUND_SECONDS = 600;

interface Pair {
  /** Can be called. */
  readonly server: DaemonProcess;
  /** Nobody knows its address. */
  readonly caller: DaemonProcess;
}

/** Two nodes of which one calls and cannot be called. */
async function pair(config: string, roundSeconds = ROUND_SECONDS): Promise<Pair> {
  const homes = [temporaryFolder('hints'), temporaryFolder('hints')] as const;
  const [one, two] = homes.map((home) => loadMachineIdentity(join(home, 'keys'), systemRandom));
  writeFileSync(join(homes[0], 'keys', `${two!.peerId}.pub`), two!.key.publicKey);
  writeFileSync(join(homes[1], 'keys', `${one!.peerId}.pub`), one!.key.publicKey);
  for (const home of homes) writeFileSync(join(home, 'config.toml'), config);
  const ports = [await freePort(), await freePort()] as const;
  // Who is not named may read only where that is permitted.
  const round = ['--catchup-interval-secs', String(roundSeconds)];
  const permit = { SVC_FED_SYNC_TRUST_PEER: '1' };
  const server = await startDaemonProcess(homes[0], ports[0], permit, round);
  const wired = ['--quorum-peers', `http://127.0.0.1:${ports[0]}`];
  const caller = await startDaemonProcess(homes[1], ports[1], permit, [...round, ...wired]);
  await untilAnswer(
    'the caller finds the server',
    async () => (await (await fetch(`${caller.base}/mesh/status`)).json()) as MeshStatusAnswer,
    ({ replication }) => replication?.peers[0]?.state === 'healthy',
    { withinMs: 60_000 },
  );
  return { server, caller };
}

async function store(at: DaemonProcess, title: string): Promise<string> {
  const response = await fetch(`${at.base}/memories`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ title, content: 'c' }),
  });
  assert.equal(response.status, 201);
  return ((await response.json()) as { id: string }).id;
}

const arrives = (at: DaemonProcess, id: string) =>
  untilAnswer(
    `${id} arrives`,
    async () => (await fetch(`${at.base}/memories/${id}`)).status,
    (status) => status === 200,
    { withinMs: 60_000 },
  );

const end = async ({ server, caller }: Pair) => {
  await caller.end('SIGTERM');
  await server.end('SIGTERM');
};

describe('a node that cannot be called', () => {
  it('hears of what is new at once, from whoever it calls', async () => {
    const nodes = await pair('');
    try {
      // The line is open soon after the first answer; what was written before is asked for when it opens.
      await arrives(nodes.caller, await store(nodes.server, 'before'));
      for (let count = 0; count < 5; count += 1) {
        await arrives(nodes.caller, await store(nodes.server, `title ${count}`));
      }
      await arrives(nodes.server, await store(nodes.caller, 'the other way'));
    } finally {
      await end(nodes);
    }
  });

  it('has a line again after the other node was away', async () => {
    const nodes = await pair('');
    try {
      await arrives(nodes.caller, await store(nodes.server, 'before'));
      const port = Number(new URL(nodes.server.base).port);
      await nodes.server.end('SIGKILL');
      const home = nodes.server.home;
      const again = await startDaemonProcess(home, port, { SVC_FED_SYNC_TRUST_PEER: '1' });
      Object.assign(nodes, { server: again });
      await arrives(nodes.caller, await store(again, 'after'));
      await arrives(nodes.caller, await store(again, 'and at once'));
    } finally {
      await end(nodes);
    }
  });

  it('converges all the same where hints are switched off', async () => {
    const nodes = await pair('[quorum]\nhints = false\n', 1);
    try {
      const { status } = await fetch(`${nodes.server.base}/mesh/hints`, { headers: upgradeHeaders });
      assert.notEqual(status, 101);
      await arrives(nodes.caller, await store(nodes.server, 'later'));
    } finally {
      await end(nodes);
    }
  });
});

const upgradeHeaders = { 'sec-websocket-version': '13', 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==' };

describe('the route for hints', () => {
  const peer = new TestPeer('a caller');
  const stranger = new TestPeer('nobody here');
  let daemon: DaemonProcess;
  before(async () => {
    const home = temporaryFolder('hints');
    peer.enrol(join(home, 'keys'));
    const port = await freePort();
    daemon = await startDaemonProcess(home, port, {});
  });
  after(() => daemon.end('SIGTERM'));

  const open = (headers: Readonly<Record<string, string | undefined>>, query = '') =>
    new WebSocket(`${daemon.base.replace('http', 'ws')}/mesh/hints${query}`, {
      headers: headers as Record<string, string>,
    });
  const signed = (as: TestPeer, query = '') => as.get('/api/v1/mesh/hints', query).headers;

  /** The status that a handshake is answered with; 101 when it is open. */
  async function statusOf(socket: WebSocket): Promise<number> {
    const answered = new Promise<number>((resolve) => {
      socket.on('error', () => undefined);
      socket.once('open', () => resolve(101));
      socket.once('unexpected-response', (_request, response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
    });
    return within('the handshake is answered', answered);
  }

  it('takes nobody who is not believed, and no handshake twice', async () => {
    const good = signed(peer);
    const first = open(good);
    assert.equal(await statusOf(first), 101);
    assert.equal(await statusOf(open(good)), 401);
    assert.equal(await statusOf(open({})), 401);
    assert.equal(await statusOf(open(signed(stranger))), 401);
    assert.equal(await statusOf(open(signed(peer), '?at=2001-01-01T00:00:00Z')), 401);
    const late = 'at=2001-01-01T00:00:00Z';
    assert.equal(await statusOf(open(signed(peer, late), `?${late}`)), 401);
    first.terminate();
  });

  it('ends a line that says too much, or something else', async () => {
    for (const [said, code] of [
      ['x'.repeat(2000), 1009],
      ['not a hint', 1003],
      [Buffer.from('{"origin":"a/b","seq":1}'), 1003],
    ] as const) {
      const socket = open(signed(peer));
      assert.equal(await statusOf(socket), 101);
      socket.send(said);
      const [closed] = await event(`the line ends after ${String(said).slice(0, 40)}`, socket, 'close');
      assert.equal(closed, code);
    }
    assert.equal((await fetch(`${daemon.base}/health`)).status, 200);
  });

  it('keeps one line of a peer, the newest', async () => {
    const first = open(signed(peer));
    assert.equal(await statusOf(first), 101);
    const gone = event('the first line ends', first, 'close');
    const second = open(signed(peer));
    assert.equal(await statusOf(second), 101);
    await gone;
    for (let count = 0; count < 1000; count += 1) second.send(formatHint({ origin: 'a/b', seq: count }));
    second.ping();
    await event('the second line answers', second, 'pong');
    second.terminate();
  });

  it('upgrades nothing else', async () => {
    const socket = new WebSocket(`${daemon.base.replace('http', 'ws')}/memories`);
    assert.equal(await statusOf(socket), 400);
  });
});

it('a hint is an origin and a number, and nothing else is one', () => {
  assert.deepEqual(parseHint(formatHint({ origin: 'a/b', seq: 3 })), { origin: 'a/b', seq: 3 });
  assert.deepEqual(parseHint('{"origin":"a/b","seq":3,"more":1}'), { origin: 'a/b', seq: 3 });
  for (const text of [
    '',
    '1',
    'null',
    '[]',
    '{}',
    '{"origin":"a"}',
    '{"origin":1,"seq":1}',
    '{"origin":"a","seq":-1}',
  ])
    assert.equal(parseHint(text), null, text);
});
