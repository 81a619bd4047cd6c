import assert from 'node:assert/strict';
import { createConnection, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import type { Services } from '../../../node/pipeline/call.js';
import { event, within } from '../../support/wait.js';
import { type HttpNode, openHttpNode, untilInflight } from './http-node.js';

let node: HttpNode;
before(async () => {
  node = await openHttpNode();
});
after(() => node.close());

const HOST = 'Host: 127.0.0.1\r\n';
const LAST = `${HOST}Connection: close\r\n`;
const statuses = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map((match) => Number(match[1]));

/** A store whose reads wait until they are let go. */
function gate() {
  let release!: () => void;
  let entered!: () => void;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const inside = new Promise<void>((resolve) => {
    entered = resolve;
  });
  const wrap = (services: Services): Services => ({
    ...services,
    store: {
      execute: (command) => services.store.execute(command),
      selfCheck: (cursor) => services.store.selfCheck(cursor),
      close: () => services.store.close(),
      query: async (query) => {
        entered();
        await held;
        return services.store.query(query);
      },
    },
  });
  return { wrap, release, inside };
}

function open(port: number): {
  socket: Socket;
  until(pattern: RegExp): Promise<string>;
  ended: Promise<string>;
} {
  const socket = createConnection({ host: '127.0.0.1', port });
  let text = '';
  socket.setEncoding('utf8');
  socket.on('error', () => {});
  const closed = new Promise<string>((resolve) => {
    socket.on('close', () => resolve(text));
  });
  const soon = <T>(what: string, promise: Promise<T>) => within(what, promise, { seen: () => text });
  socket.on('data', (chunk: string) => {
    text += chunk;
  });
  return {
    socket,
    get ended() {
      return soon('the node ends the connection', closed);
    },
    until: (pattern) => {
      const came = new Promise<string>((resolve, reject) => {
        const look = () => {
          if (!pattern.test(text)) return;
          socket.off('data', look);
          resolve(text);
        };
        socket.on('data', look);
        socket.on('close', () => reject(new Error(`ended before ${pattern}: ${text}`)));
        look();
      });
      return soon(`${pattern} comes`, came);
    },
  };
}

const GARBAGE: readonly [string, string][] = [
  ['no HTTP', 'hello\r\n\r\n'],
  ['an unknown version', `GET / HTTP/9.9\r\n${LAST}\r\n`],
  ['a bad header', `GET /health HTTP/1.1\r\n${LAST}bad header: x\r\n\r\n`],
  ['a header without a colon', `GET /health HTTP/1.1\r\n${LAST}nocolon\r\n\r\n`],
  ['a space in the target', `GET /hea lth HTTP/1.1\r\n${LAST}\r\n`],
  ['two lengths', `POST /api/v1/recall HTTP/1.1\r\n${LAST}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x`],
  ['a length that is no number', `POST /api/v1/recall HTTP/1.1\r\n${LAST}Content-Length: two\r\n\r\n{}`],
  [
    'a length beside chunks',
    `POST /api/v1/recall HTTP/1.1\r\n${LAST}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  ],
  ['a head over its cap', `GET /health HTTP/1.1\r\n${LAST}X-Big: ${'x'.repeat(40_000)}\r\n\r\n`],
  ['no Host', 'GET /health HTTP/1.1\r\nConnection: close\r\n\r\n'],
  ['a URL over its cap', `GET /health?${'x'.repeat(17_000)} HTTP/1.1\r\n${LAST}\r\n`],
  ['an unknown expectation', `GET /health HTTP/1.1\r\n${LAST}Expect: tea\r\n\r\n`],
];
for (const [what, bytes] of GARBAGE) {
  test(`${what} is answered 400 in JSON`, async () => {
    const text = await node.raw(bytes);
    assert.match(text, /^HTTP\/1\.1 400 /, text);
    assert.match(text, /content-type: application\/json\r\n/i);
    assert.equal(JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)).code, 'INVALID_REQUEST');
  });
}

test('CONNECT is answered 405', async () => {
  assert.match(
    await node.raw(`CONNECT x:1 HTTP/1.1\r\n${HOST}\r\n`),
    /^HTTP\/1\.1 405 .*METHOD_NOT_ALLOWED/s,
  );
});

test('HTTP/1.0 and the absolute form are served', async () => {
  assert.deepEqual(statuses(await node.raw('GET /health HTTP/1.0\r\n\r\n')), [200]);
  const absolute = await node.raw(`GET http://127.0.0.1/health HTTP/1.1\r\n${LAST}\r\n`);
  assert.deepEqual(statuses(absolute), [200]);
});

test('a body that comes byte by byte is read', async () => {
  const body = '{"title":"slow","content":"bytes"}';
  const { socket, ended } = open(node.port);
  socket.setNoDelay(true);
  socket.write(`POST /api/v1/memories HTTP/1.1\r\n${LAST}Content-Length: ${body.length}\r\n\r\n`);
  for (const byte of body) await new Promise<void>((resolve) => socket.write(byte, () => resolve()));
  assert.match(await ended, /^HTTP\/1\.1 201 /);
});

test('a chunked body is read, and a broken chunk refused', async () => {
  const head = `POST /api/v1/recall HTTP/1.1\r\n${LAST}Transfer-Encoding: chunked\r\n\r\n`;
  const good = await node.raw(`${head}8\r\n{"contex\r\n8\r\nt": "a"}\r\n0\r\n\r\n`);
  assert.deepEqual(statuses(good), [200], good);
  const bad = await node.raw(`${head}8\r\n{"contex\r\nZZ\r\n`);
  assert.match(bad, /^HTTP\/1\.1 400 .*INVALID_REQUEST/s);
});

test('pipelined requests are answered in their order', async () => {
  const text = await node.raw(
    `GET /health HTTP/1.1\r\n${HOST}\r\nGET /nowhere HTTP/1.1\r\n${HOST}\r\n` +
      `POST /api/v1/recall HTTP/1.1\r\n${HOST}Content-Length: 15\r\n\r\n{"context":"a"}` +
      `GET /api/v1/memories?limit=1 HTTP/1.1\r\n${LAST}\r\n`,
  );
  assert.deepEqual(statuses(text), [200, 404, 200, 200]);
});

test('what was asked before garbage is still answered', async () => {
  const { wrap, release, inside } = gate();
  const held = await openHttpNode({}, { wrap });
  try {
    const { socket, ended } = open(held.port);
    socket.write(`GET /api/v1/memories HTTP/1.1\r\n${HOST}\r\n`);
    await within('the request reaches the store', inside);
    socket.write('garbage\r\n\r\n');
    // A second request shows that the node has read what came before it.
    assert.equal((await held.send('GET', '/health')).status, 200);
    release();
    assert.match(await ended, /^HTTP\/1\.1 200 .*"count":0/s);
  } finally {
    release();
    await held.close();
  }
});

test('a client that leaves inside its body leaves nothing behind', async () => {
  const before = await node.counts();
  const head = `POST /api/v1/memories HTTP/1.1\r\n${HOST}Content-Length: 100\r\n\r\n{"title":"half"`;
  const half = open(node.port);
  half.socket.end(head);
  assert.match(await half.ended, /^HTTP\/1\.1 400 .*INVALID_REQUEST/s, 'who still listens is told');

  const gone = open(node.port);
  gone.socket.write(head);
  await untilInflight(node, 2);
  gone.socket.resetAndDestroy();
  await untilInflight(node, 1);
  const text = await node.metrics.render();
  assert.ok(text.includes('svc_requests_total{operation="memory_store",status="0"} 1\n'), 'counted as left');
  assert.deepEqual(await node.counts(), before);
});

test('clients that vanish at any moment do no harm', async () => {
  const body = JSON.stringify({ title: 'gone', content: 'x'.repeat(50_000), on_conflict: 'version' });
  const requests = [
    `POST /api/v1/memories HTTP/1.1\r\n${HOST}Content-Length: ${body.length}\r\n\r\n${body}`,
    `POST /api/v1/memories HTTP/1.1\r\n${HOST}Content-Length: 9000000\r\n\r\n${'x'.repeat(4_000_000)}`,
    `POST /api/v1/memories HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n300000\r\n${'x'.repeat(3_000_000)}`,
    `GET /api/v1/memories HTTP/1.1\r\n${HOST}\r\n`.repeat(20),
  ];
  const clients = Array.from({ length: 60 }, async (_, index) => {
    const { socket, ended } = open(node.port);
    socket.write(requests[index % requests.length]!);
    for (let turn = 0; turn < index; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    socket.resetAndDestroy();
    await ended;
  });
  await Promise.all(clients);
  await untilInflight(node, 1);
});

test('Expect: 100-continue is granted to what would be read, and refused before the upload otherwise', async () => {
  const body = '{"context":"a"}';
  const granted = open(node.port);
  granted.socket.write(
    `POST /api/v1/recall HTTP/1.1\r\n${LAST}Content-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
  );
  await granted.until(/^HTTP\/1\.1 100 /);
  granted.socket.write(body);
  assert.deepEqual(statuses(await granted.ended), [100, 200]);
  const refused = await node.raw(
    `POST /api/v1/recall HTTP/1.1\r\n${HOST}Content-Length: 9999999\r\nExpect: 100-continue\r\n\r\n`,
  );
  assert.deepEqual(statuses(refused), [413]);
});

test('a page of another site cannot reach a node on loopback', async () => {
  const ask = (host: string, more = '') =>
    node.raw(`GET /health HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${more}\r\n`);
  for (const host of [
    '127.0.0.1',
    `127.0.0.1:${node.port}`,
    'localhost:1',
    'LOCALHOST',
    '[::1]:80',
    'x.localhost',
  ]) {
    assert.deepEqual(statuses(await ask(host)), [200], host);
  }
  for (const host of [
    'evil.example',
    'evil.example:9077',
    '127.0.0.1.evil.example',
    '192.168.0.1',
    '',
    'a@127.0.0.1',
    '[::2]',
    'localhost.evil',
  ]) {
    const text = await ask(host);
    assert.match(text, /^HTTP\/1\.1 403 .*"code":"FORBIDDEN"/s, `${host}: ${text}`);
  }
  for (const origin of [
    'http://evil.example',
    'null',
    'https://127.0.0.1.evil.example',
    'file://',
    'http://localhost:9077',
  ]) {
    assert.deepEqual(statuses(await ask('127.0.0.1', `Origin: ${origin}\r\n`)), [403], origin);
  }
  assert.deepEqual(statuses(await ask('localhost:9077', 'Origin: http://localhost:9077\r\n')), [200]);
});

test('a slow answer is DEADLINE, and its connection goes on', async () => {
  const { wrap, release } = gate();
  const held = await openHttpNode({ requestTimeoutMs: 60 }, { wrap });
  try {
    const answer = await held.send('GET', '/api/v1/memories');
    assert.deepEqual([answer.status, answer.json!['code']], [504, 'DEADLINE']);
    release();
    assert.equal((await held.send('GET', '/api/v1/memories')).status, 200);
  } finally {
    release();
    await held.close();
  }
});

test('a body that does not arrive in time is refused', async () => {
  const held = await openHttpNode({ requestTimeoutMs: 60 });
  try {
    const text = await held.raw(
      `POST /api/v1/memories HTTP/1.1\r\n${HOST}Content-Length: 100\r\n\r\n{"title":`,
    );
    assert.match(text, /^HTTP\/1\.1 408 .*did not arrive.*REQUEST_TIMEOUT/s);
  } finally {
    await held.close();
  }
});

test('draining answers what is under way, refuses what still comes, and ends every connection', async () => {
  const { wrap, release, inside } = gate();
  const held = await openHttpNode({}, { wrap });
  const idle = open(held.port);
  idle.socket.write(`GET /health HTTP/1.1\r\n${HOST}\r\n`);
  await idle.until(/"status":"ok"/);
  const busy = open(held.port);
  busy.socket.write(`GET /api/v1/memories HTTP/1.1\r\n${HOST}\r\n`);
  await within('the request reaches the store', inside);

  held.surface.stopAccepting();
  const drained = held.surface.drain(10_000);
  await idle.ended;
  await assert.rejects(held.send('GET', '/health'), 'no new connection');
  busy.socket.write(`GET /api/v1/memories HTTP/1.1\r\n${HOST}\r\n`);
  release();
  const text = await busy.ended;
  assert.match(text, /^HTTP\/1\.1 200 [^{]*connection: close/i);
  await drained;
  await held.close();
});

test('a request on an open connection while draining is SHUTTING_DOWN', async () => {
  const { wrap, release, inside } = gate();
  const held = await openHttpNode({}, { wrap });
  const busy = open(held.port);
  busy.socket.write(`GET /api/v1/memories HTTP/1.1\r\n${HOST}\r\n`);
  await within('the request reaches the store', inside);
  // Its head is not complete, so the connection is not idle.
  const late = open(held.port);
  late.socket.write(`GET /health HTTP/1.1\r\n${HOST}`);
  assert.equal((await held.send('GET', '/health')).status, 200);
  const drained = held.surface.drain(10_000);
  late.socket.write('\r\n');
  assert.match(await late.ended, /^HTTP\/1\.1 503 .*SHUTTING_DOWN/s);
  release();
  assert.deepEqual(statuses(await busy.ended), [200]);
  await drained;
  await held.close();
});

test('draining gives up after its grace, and closing ends what is left', async () => {
  const { wrap, release, inside } = gate();
  const held = await openHttpNode({}, { wrap });
  const busy = open(held.port);
  busy.socket.write(`GET /api/v1/memories HTTP/1.1\r\n${HOST}\r\n`);
  await within('the request reaches the store', inside);
  await held.surface.drain(20);
  await held.surface.close();
  assert.equal(await busy.ended, '');
  release();
  await held.close();
});

test('a port that is taken rejects', async () => {
  const other = await openHttpNode();
  try {
    const { createHttpSurface } = await import('../../../node/http/server.js');
    const surface = createHttpSurface({ services: node.services, operations: [], metrics: node.metrics });
    await assert.rejects(surface.listen('127.0.0.1', other.port), { code: 'EADDRINUSE' });
    await surface.close();
  } finally {
    await other.close();
  }
});

test('a drain does not wait for a connection on which nothing was ever sent', async () => {
  const own = await openHttpNode();
  const silent = createConnection({ host: '127.0.0.1', port: own.port });
  await event('the connection opens', silent, 'connect');
  const ended = event('the drain ends the silent connection', silent, 'close');
  const begun = performance.now();
  await own.surface.drain(20_000);
  await ended;
  assert.ok(performance.now() - begun < 5000);
  await own.close();
});
