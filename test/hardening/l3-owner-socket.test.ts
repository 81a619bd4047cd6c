import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { OwnerSocket } from '../../node/semantics/owner-socket.js';
import { FakeIndex, REQUEST } from '../node/semantics/fake-index.js';
import { recordingLog } from '../storage/vectors/real-seams.js';
import { freePort, startDaemonProcess, temporaryFolder } from '../support/daemon-process.js';
import { event, until, within } from '../support/wait.js';

const MIB = 1024 * 1024;
const SENT_MIB = 100;
const CONNECTIONS = 64;

const residentMiB = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;

/** Writes until all is sent or the other end hangs up; answers how much was taken. */
async function flood(socket: Socket, mebibytes: number): Promise<number> {
  const chunk = Buffer.alloc(MIB, 'a');
  for (let sent = 0; sent < mebibytes; sent += 1) {
    const error = await new Promise((resolve) => socket.write(chunk, resolve));
    if (error) return sent;
  }
  return mebibytes;
}

async function connected(path: string): Promise<Socket> {
  const socket = createConnection(path);
  socket.on('error', () => undefined);
  socket.resume();
  await event('the connection opens', socket, 'connect');
  return socket;
}

function fixture(index = new FakeIndex('owner')) {
  const path = join(temporaryFolder('l3'), 'owner.sock');
  return { path, index, listening: OwnerSocket.listen(path, index, recordingLog()) };
}

describe('L3 the socket of the owner', () => {
  it('L3 ends a connection that sends 100 MiB without a newline; the daemon lives and keeps none of it', {
    skip: process.platform === 'linux' ? false : 'the memory of a process is read from /proc',
  }, async (context) => {
    const home = temporaryFolder('l3');
    const daemon = await startDaemonProcess(home, await freePort(), { SVC_EMBED_BACKEND: 'builtin' });
    try {
      const sockets = () => readdirSync(home).filter((name) => name.startsWith('owner-'));
      await until('the owner listens', () => sockets().length === 1);
      const before = residentMiB(daemon.child.pid!);
      const socket = await connected(join(home, sockets()[0]!));
      const taken = await within('the flood ends', flood(socket, SENT_MIB));
      const grown = residentMiB(daemon.child.pid!) - before;
      context.diagnostic(`${taken} MiB were taken; the daemon grew by ${grown.toFixed(1)} MiB`);
      socket.destroy();
      assert.ok(taken < 16, `${taken} MiB were taken`);
      assert.ok(grown < 64, `the daemon grew by ${grown} MiB`);
      assert.equal((await fetch(`${daemon.base}/health`)).status, 200);
    } finally {
      await daemon.end('SIGTERM');
    }
  });

  it('L3 is closed to other users from its first moment on', async () => {
    const usual = process.umask(0);
    try {
      const { path, listening } = fixture();
      assert.equal(statSync(path).mode & 0o077, 0, 'before anybody could connect');
      const owner = await listening;
      assert.equal(statSync(path).mode & 0o777, 0o600);
      assert.equal(process.umask(), 0, "the process's own umask is as before");
      await owner.close();
    } finally {
      process.umask(usual);
    }
  });

  it('L3 has one question of a connection under way', async () => {
    let release!: () => void;
    const held = new Promise<'empty'>((resolve) => {
      release = () => resolve('empty');
    });
    const { path, index, listening } = fixture(new FakeIndex('owner', () => held));
    const owner = await listening;
    const socket = await connected(path);
    socket.write(`${JSON.stringify(REQUEST)}\n`.repeat(1000));
    await until('the first question arrives', () => index.asked.length > 0);
    // Answers of another connection show that the rest of the first had its time.
    const other = await connected(path);
    other.write(`${JSON.stringify(REQUEST)}\n`);
    await until('the other question arrives', () => index.asked.length > 1);
    assert.equal(index.asked.length, 2);
    release();
    await until('all are answered in the end', () => index.asked.length === 1001);
    await owner.close();
  });

  it('L3 takes no more connections than it can serve', async () => {
    const { path, listening } = fixture();
    const owner = await listening;
    const sockets: Socket[] = [];
    for (let n = 0; n < CONNECTIONS; n += 1) sockets.push(await connected(path));
    const refused = createConnection(path).resume();
    refused.on('error', () => undefined);
    await event('a further one ends', refused, 'close');
    sockets[0]!.destroy();
    await until('there is room again', async () => {
      const socket = createConnection(path);
      socket.on('error', () => undefined);
      socket.write(`${JSON.stringify(REQUEST)}\n`);
      const isAnswered = await new Promise<boolean>((resolve) => {
        socket.once('data', () => resolve(true));
        socket.once('close', () => resolve(false));
      });
      socket.destroy();
      return isAnswered;
    });
    await owner.close();
  });
});
