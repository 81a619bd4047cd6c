import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { SocketNames } from '../../../node/private-socket.js';
import { systemCrypto } from '../../../node/seams.js';
import { OwnerSocket, RemoteSemantics } from '../../../node/semantics/owner-socket.js';
import type { SemanticIndex } from '../../../node/semantics/semantic-index.js';
import { OWNER_SOCKET_TIMEOUT_MS } from '../../../protocol/base/limits.js';
import { fail, ok } from '../../../protocol/base/result.js';
import type { Scheduler } from '../../../protocol/base/seams.js';
import type { Store } from '../../../storage/port.js';
import { realClock, realScheduler, recordingLog } from '../../storage/vectors/real-seams.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { event, until } from '../../support/wait.js';
import { EVIDENCE, FakeIndex, REQUEST } from './fake-index.js';

const HOLDER = 'daemon:1:abc';

/** A store that knows who owns the database, and nothing else. */
const ownedBy = (holder: string | null | 'unknown'): Store => ({
  query: () =>
    Promise.resolve((holder === 'unknown' ? fail('DATABASE_ERROR', 'broken') : ok({ holder })) as never),
  execute: () => assert.fail('a question changes nothing'),
  selfCheck: () => Promise.resolve(ok({ problems: [], next: null })),
  close: () => Promise.resolve(),
});

/** Timers that never run: what is answered must not be left to the time-out. */
const NEVER: Scheduler = { after: () => ({ cancel() {} }), immediate: realScheduler.immediate };

function fixture(holder: Parameters<typeof ownedBy>[0] = HOLDER, scheduler = realScheduler) {
  const home = temporaryFolder('owner');
  const names = new SocketNames('owner', home, join(home, 'x.db'), systemCrypto);
  const remote = new RemoteSemantics(names, ownedBy(holder), realClock, scheduler);
  return { home, names, remote, path: names.pathOf(HOLDER) };
}

const listen = (path: string, index: SemanticIndex = new FakeIndex('owner', async () => EVIDENCE)) =>
  OwnerSocket.listen(path, index, recordingLog());

/** An owner that does with a connection what the test says. */
async function strange(path: string, serve: (socket: Socket) => void): Promise<{ close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    serve(socket);
  });
  server.listen(path);
  await event('the owner listens', server, 'listening');
  return {
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await event('the owner closes', server, 'close');
    },
  };
}

describe('the owner of a database', () => {
  it('answers another process, numbers and vectors unchanged', async () => {
    const { path, remote } = fixture();
    const script = fileURLToPath(new URL('./owner-process.js', import.meta.url));
    const child = spawn(process.execPath, [script, path], { stdio: ['pipe', 'pipe', 'inherit'] });
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    await until('the owner listens', () => said.includes('listening\n'));
    const answers = await Promise.all([
      remote.evidence(REQUEST),
      remote.evidence({ ...REQUEST, namespace: null }),
    ]);
    assert.deepEqual(answers, [EVIDENCE, EVIDENCE]);
    assert.equal(remote.state().failing, false);
    child.stdin.end();
    await event('the owner ends', child, 'close', { seen: () => said });
    const { asked } = JSON.parse(said.slice(said.indexOf('{'))) as { asked: unknown[] };
    assert.equal(asked.length, 2);
    assert.ok(asked.some((request) => JSON.stringify(request) === JSON.stringify(REQUEST)));
    assert.equal(await remote.evidence(REQUEST), 'unreachable', 'the owner is gone');
    assert.equal(remote.state().failing, true);
  });

  it('passes on why there is no evidence', async () => {
    for (const absence of ['busy', 'failing', 'empty', 'disabled'] as const) {
      const { path, remote } = fixture();
      const owner = await listen(path, new FakeIndex('owner', async () => absence));
      assert.equal(await remote.evidence(REQUEST), absence);
      assert.equal(remote.state().failing, false, 'it was reached');
      await owner.close();
    }
  });

  it('listens where its user alone may ask', async () => {
    const { path } = fixture();
    const owner = await listen(path);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    await owner.close();
    assert.equal(existsSync(path), false);
  });

  it('takes the place of one that was killed and left its file', async () => {
    const { path, remote } = fixture();
    writeFileSync(path, '');
    const owner = await listen(path);
    assert.deepEqual(await remote.evidence(REQUEST), EVIDENCE);
    await owner.close();
  });

  it('ends a connection that sends no question, and answers the next', async () => {
    const { path, remote } = fixture();
    const index = new FakeIndex('owner', async () => EVIDENCE);
    const owner = await listen(path, index);
    for (const line of [
      'garbage',
      '{}',
      '[]',
      'null',
      '{"query":7}',
      JSON.stringify({ ...REQUEST, viewer: {} }),
      '',
    ]) {
      const socket = createConnection(path);
      socket.resume();
      socket.write(`${line}\n`);
      await event(`the connection ends after ${JSON.stringify(line)}`, socket, 'close');
    }
    assert.equal(index.asked.length, 0);
    assert.deepEqual(await remote.evidence(REQUEST), EVIDENCE);
    await owner.close();
  });

  it('survives a client that leaves before its answer', async () => {
    const { path, remote } = fixture();
    let release!: () => void;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const index = new FakeIndex('owner', () => held.then(() => EVIDENCE));
    const owner = await listen(path, index);
    const socket = createConnection(path);
    socket.write(`${JSON.stringify(REQUEST)}\n`);
    await until('the question arrives', () => index.asked.length > 0);
    socket.destroy();
    release();
    assert.deepEqual(await remote.evidence(REQUEST), EVIDENCE);
    await owner.close();
  });

  it('that closes ends its connections, and leaves the socket of the next owner alone', async () => {
    const { home, names, path } = fixture();
    const old = await listen(path);
    const waiting = createConnection(path);
    await event('the connection opens', waiting, 'connect');
    const next = await listen(names.pathOf('daemon:2:def'));
    const ended = event('the connection ends with its owner', waiting.resume(), 'close');
    await old.close();
    await ended;
    assert.equal(readdirSync(home).length, 1);
    const remote = new RemoteSemantics(names, ownedBy('daemon:2:def'), realClock, realScheduler);
    assert.deepEqual(await remote.evidence(REQUEST), EVIDENCE);
    await next.close();
  });

  it('removes what others of its database left, and nothing else', () => {
    const { home, names } = fixture();
    const other = new SocketNames('owner', home, join(home, 'y.db'), systemCrypto);
    const kept = [names.pathOf(HOLDER), other.pathOf('daemon:2:def'), join(home, 'owner-x.sock')];
    for (const path of [...kept, names.pathOf('daemon:2:def')]) writeFileSync(path, '');
    names.removeOthers(HOLDER);
    assert.deepEqual(
      readdirSync(home)
        .map((name) => join(home, name))
        .sort(),
      kept.sort(),
    );
  });
});

describe('a question to an owner', () => {
  it('that there is not, or that cannot be found out, is unreachable', async () => {
    for (const holder of [null, 'unknown', HOLDER]) {
      assert.equal(await fixture(holder).remote.evidence(REQUEST), 'unreachable');
    }
  });

  it('that hangs is given up after 300 ms', async () => {
    const { path, remote } = fixture();
    const owner = await strange(path, () => undefined);
    const startedMs = performance.now();
    assert.equal(await remote.evidence(REQUEST), 'unreachable');
    const tookMs = performance.now() - startedMs;
    assert.equal(OWNER_SOCKET_TIMEOUT_MS, 300);
    assert.ok(tookMs >= 290 && tookMs < 1500, `${tookMs} ms`);
    assert.deepEqual(remote.state(), {
      enabled: true,
      loaded: false,
      failing: true,
      lastError: 'the process that owns the database does not answer',
      model: 'owner',
      dim: 0,
    });
    await owner.close();
  });

  it('that is answered drop by drop is given up all the same', async () => {
    const { path, remote } = fixture();
    const owner = await strange(path, (socket) => {
      const drops = setInterval(() => socket.write(' '), 20);
      socket.on('close', () => clearInterval(drops));
    });
    const startedMs = performance.now();
    assert.equal(await remote.evidence(REQUEST), 'unreachable');
    assert.ok(performance.now() - startedMs < 1500);
    await owner.close();
  });

  const answering = (text: string) => (socket: Socket) => void socket.once('data', () => socket.end(text));

  it('that is answered with garbage, or not at all, is unreachable at once', async () => {
    const numbers = '"mean":0,"deviation":0,"scanned":1';
    for (const text of [
      'garbage\n',
      '\n',
      '',
      'no end of the line',
      'null\n',
      '{}\n',
      '{"absence":"tired"}\n',
      `{"queryVector":7,"hits":[],${numbers}}\n`,
      `{"queryVector":"AAAAAA==","hits":[[1]],${numbers}}\n`,
      `{"queryVector":"AAAAAA==","hits":[["1",2]],${numbers}}\n`,
    ]) {
      const { path, remote } = fixture(HOLDER, NEVER);
      const owner = await strange(path, answering(text));
      assert.equal(await remote.evidence(REQUEST), 'unreachable', JSON.stringify(text));
      await owner.close();
    }
  });

  it('that is answered with half a number is unreachable, and no exception', async () => {
    const { path, remote } = fixture();
    const text = '{"queryVector":"AAAAAAA=","hits":[],"mean":0,"deviation":0,"scanned":1}\n';
    const owner = await strange(path, answering(text));
    try {
      assert.equal(await remote.evidence(REQUEST), 'unreachable');
    } finally {
      await owner.close();
    }
  });

  it('that comes in pieces is read whole', async () => {
    const { path, remote } = fixture();
    const owner = await strange(path, (socket) => {
      socket.once('data', async () => {
        for (const piece of ['{"abs', 'ence":"bu', 'sy"}', '\n']) {
          socket.write(piece);
          await new Promise((resume) => setImmediate(resume));
        }
      });
    });
    assert.equal(await remote.evidence(REQUEST), 'busy');
    await owner.close();
  });
});
