import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { LINGER_MS } from '../../../node/http/http-limits.js';
import { within } from '../../support/wait.js';
import { type HttpNode, openHttpNode } from './http-node.js';

/** By default the client reads nothing for this long, while the node answers and ends the connection. */
const READS_LATE_MS = 300;
const BODY_BYTES = 2 * 1024 * 1024;

let node: HttpNode;
before(async () => {
  node = await openHttpNode();
});
after(() => node.close());

/** Sends bytes, reads late, and returns all that came until the node ended the connection. */
async function sendAndReadLate(bytes: string, lateMs = READS_LATE_MS): Promise<string> {
  const socket = await connected();
  socket.pause();
  socket.write(bytes);
  await sleep(lateMs);
  const received: Buffer[] = [];
  const ended = once(socket, 'close');
  socket.on('data', (chunk: Buffer) => received.push(chunk));
  socket.resume();
  await within('the end of the connection', ended);
  return Buffer.concat(received).toString('latin1');
}

const connected = (allowHalfOpen = false) => {
  const opened = new Promise<Socket>((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port: node.port, allowHalfOpen }, () =>
      resolve(socket),
    );
    // A reset shows itself by the bytes that are missing.
    socket.on('error', () => undefined);
  });
  return within('the connection', opened);
};

const head = (line: string, more = '') => `${line} HTTP/1.1\r\nHost: 127.0.0.1\r\n${more}\r\n`;
const upload = `${head('POST /api/v1/memories', `Content-Type: application/json\r\nContent-Length: ${BODY_BYTES}\r\n`)}${' '.repeat(BODY_BYTES)}`;

test('a connection that ends leaves its answers whole for a client that still sends and reads late', async () => {
  const document = Buffer.from((await node.send('GET', '/openapi.json')).text).toString('latin1');
  for (let round = 0; round < 5; round += 1) {
    const received = await sendAndReadLate(
      head('GET /openapi.json') + head('GET /health', 'Connection: close\r\n') + upload,
    );
    const at = received.indexOf('\r\n\r\n') + 4;
    const whole = received.slice(at, at + document.length) === document;
    assert.ok(whole, `${received.length - at} bytes came of ${document.length}`);
    const last = received.slice(at + document.length);
    assert.match(last, /^HTTP\/1\.1 200 OK\r\n[\s\S]*"status":"ok"/);
  }
});

test('a large last answer stays whole for a client that reads it later than the node lingers', async () => {
  for (let row = 0; row < 90; row += 1) {
    await node.send('POST', '/api/v1/memories', { title: `large ${row}`, content: 'x'.repeat(60_000) });
  }
  const list = head('GET /api/v1/memories?limit=90', 'Connection: close\r\n');
  const received = await sendAndReadLate(list, LINGER_MS + 500);
  const announced = Number(/^content-length: (\d+)/im.exec(received)?.[1]);
  assert.ok(announced > 5_000_000, `${announced} bytes are announced`);
  assert.equal(received.length - received.indexOf('\r\n\r\n') - 4, announced);
});

test('a client that sends no HTTP, and then much more, reads why it is refused', async () => {
  for (let round = 0; round < 5; round += 1) {
    const received = await sendAndReadLate(`no HTTP\r\n\r\n${upload}`);
    assert.match(received, /^HTTP\/1\.1 400 [\s\S]*"code":"INVALID_REQUEST"/);
  }
});

test('a refused upload that goes on is told so', async () => {
  for (let round = 0; round < 5; round += 1) {
    const received = await sendAndReadLate(
      head('POST /api/v1/memories', 'Content-Type: application/json\r\nContent-Length: 20000000\r\n') +
        ' '.repeat(8_000_000),
    );
    assert.match(received, /^HTTP\/1\.1 413 [\s\S]*"code":"PAYLOAD_TOO_LARGE"/);
  }
});

test('a client that never ends its side loses the connection', async () => {
  const socket = await connected(true);
  const startedMs = performance.now();
  socket.write(head('GET /health', 'Connection: close\r\n'));
  const writing = setInterval(() => socket.write(' '), 50);
  try {
    const ended = new Promise<number>((resolve) => {
      socket.once('end', () => resolve(performance.now() - startedMs));
    });
    const closed = new Promise<number>((resolve) => {
      socket.once('close', () => resolve(performance.now() - startedMs));
    });
    socket.resume();
    assert.ok((await within('the end of the answers', ended)) < LINGER_MS);
    assert.ok((await within('the end of the connection', closed)) >= LINGER_MS);
  } finally {
    clearInterval(writing);
    socket.destroy();
  }
});
