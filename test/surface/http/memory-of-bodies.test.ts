// Runs alone: it measures memory.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createConnection, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { ByteSum } from '../../../node/http/byte-sum.js';
import { Exchange, type ExchangeOwner } from '../../../node/http/exchange.js';
import type { Services } from '../../../node/pipeline/call.js';
import { ANSWER_SMALL_BYTES_MAX } from '../../../protocol/base/limits.js';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../../support/daemon-process.js';
import { event, until } from '../../support/wait.js';
import { openHttpNode, untilInflight } from './http-node.js';

const RESIDENT_BYTES_MAX = 400 * 1024 * 1024;
const LIST = 'GET /api/v1/memories?limit=1000 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';

/** The most memory that a process has had resident so far. */
function residentPeak({ child }: DaemonProcess): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)![1]) * 1024;
}

async function connect(port: number): Promise<Socket> {
  const socket = createConnection({ host: '127.0.0.1', port });
  socket.on('error', () => undefined);
  await event('the connection opens', socket, 'connect');
  return socket;
}

async function withDaemon(work: (daemon: DaemonProcess, port: number) => Promise<void>): Promise<void> {
  const port = await freePort();
  const daemon = await startDaemonProcess(temporaryFolder('h2'), port);
  try {
    await work(daemon, port);
  } finally {
    await daemon.end('SIGKILL');
  }
}

/** A thousand memories, of which a list is some 3 MB. */
async function fill({ base }: DaemonProcess): Promise<void> {
  for (let part = 0; part < 4; part += 1) {
    const rows = Array.from({ length: 250 }, (_, row) => ({
      title: `memory ${part} ${row}`,
      content: 'three '.repeat(550),
    }));
    const answer = await fetch(`${base}/memories/bulk`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(rows),
    });
    assert.ok(answer.ok, await answer.text());
  }
  const list = await (await fetch(`${base}/memories?limit=1000`)).text();
  assert.ok(list.length > 3_000_000, `a list is ${list.length} bytes`);
}

describe('memory for answers and bodies under way', () => {
  it(
    'is bounded when one connection asks for 300 lists and reads none',
    { skip: !existsSync('/proc/self/status') },
    () =>
      withDaemon(async (daemon, port) => {
        await fill(daemon);
        const unread = await connect(port);
        unread.pause();
        unread.write(LIST.repeat(300));
        const health = async () => (await fetch(`${daemon.base}/health`)).ok;
        for (let turn = 0; turn < 60 && residentPeak(daemon) < RESIDENT_BYTES_MAX; turn += 1) {
          assert.ok(await health());
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
        const peak = residentPeak(daemon);
        assert.ok(peak < RESIDENT_BYTES_MAX, `${peak} bytes were resident`);
        unread.destroy();
      }),
  );

  it('is bounded when 250 bodies of 2 MiB do not end', { skip: !existsSync('/proc/self/status') }, () =>
    withDaemon(async (daemon, port) => {
      const bytes = 2 * 1024 * 1024;
      const body = Buffer.alloc(bytes - 1, 'x');
      const answers: string[] = [];
      let refused = 0;
      const sockets = await Promise.all(Array.from({ length: 250 }, () => connect(port)));
      for (const [index, socket] of sockets.entries()) {
        socket.setEncoding('utf8').on('data', (text: string) => {
          if (answers[index] === undefined) refused += 1;
          answers[index] = (answers[index] ?? '') + text;
        });
        socket.write(
          `POST /api/v1/memories HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`,
        );
        socket.write(body);
      }
      await until('the others are refused', () => refused >= 218);
      assert.match(answers.join(''), /^HTTP\/1\.1 503 .*"code":"OVERLOADED"/s);
      const peak = residentPeak(daemon);
      assert.ok(peak < RESIDENT_BYTES_MAX, `${peak} bytes were resident`);
      for (const socket of sockets) socket.destroy();
    }),
  );

  it('is not asked for by requests that wait for an earlier one of their connection', async () => {
    let release!: () => void;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let asked = 0;
    const wrap = (services: Services): Services => ({
      ...services,
      store: {
        execute: (command, options) => services.store.execute(command, options),
        selfCheck: (cursor) => services.store.selfCheck(cursor),
        close: () => services.store.close(),
        query: async (query, options) => {
          asked += 1;
          await held;
          return services.store.query(query, options);
        },
      },
    });
    const node = await openHttpNode({}, { wrap });
    try {
      const socket = await connect(node.port);
      let text = '';
      socket.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      socket.write(LIST.repeat(20));
      await until('the first list asks the store', () => asked > 0);
      await untilInflight(node, 2);
      assert.equal(asked, 1);
      release();
      await until('all are answered', () => text.split('HTTP/1.1 200 ').length === 21);
      socket.destroy();
    } finally {
      release();
      await node.close();
    }
  });

  it('refuses a large answer when unsent ones hold too much, but tells what a write did', () => {
    for (const [effective, bytes, status] of [
      [false, ANSWER_SMALL_BYTES_MAX, 200],
      [false, ANSWER_SMALL_BYTES_MAX + 1, 503],
      [true, ANSWER_SMALL_BYTES_MAX + 1, 200],
    ] as const) {
      const answers = new ByteSum(ANSWER_SMALL_BYTES_MAX);
      let answered = 0;
      const owner = {
        ...{ answers, bodies: new ByteSum(0) },
        finished: (_: Exchange, with_: number) => (answered = with_),
      };
      const exchange = new Exchange(
        { headers: {} } as IncomingMessage,
        { destroyed: true } as ServerResponse,
        0,
        owner as unknown as ExchangeOwner,
      );
      exchange.effective = effective;
      exchange.send(200, 'text/plain', 'x'.repeat(bytes));
      assert.deepEqual([answered, answers.held], [status, 0]);
    }
  });

  it('counts the bytes of one sort up to a limit', () => {
    const sum = new ByteSum(10);
    sum.add(8);
    assert.deepEqual([sum.fits(2), sum.fits(3)], [true, false]);
    sum.remove(4);
    assert.deepEqual([sum.fits(6), sum.held], [true, 4]);
  });
});
