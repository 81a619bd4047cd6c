import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { acceptsGzip, isCompressible } from '../../../node/http/content-coding.js';
import { GZIP_BYTES_MIN, GZIP_INLINE_BYTES_MAX } from '../../../protocol/base/limits.js';
import { type HttpNode, openHttpNode, untilInflight } from './http-node.js';

let node: HttpNode;
before(async () => {
  node = await openHttpNode();
  for (let index = 0; index < 12; index += 1) {
    const content = `Row ${index}: ${'what was decided about the deploy window. '.repeat(200)}`;
    await node.send('POST', '/api/v1/memories', { title: `row ${index}`, content });
  }
});
after(() => node.close());

interface Raw {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly bytes: Buffer;
}

/** Not `fetch`, which would decompress by itself. */
function raw(
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body?: string,
): Promise<Raw> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port: node.port, method, path, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          bytes: Buffer.concat(chunks),
        });
      });
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

const GZIP = { 'accept-encoding': 'gzip' };
const LIST = '/api/v1/memories';

test('an answer is gzipped when the client takes gzip, at once or beside the main thread', async () => {
  for (const path of [`${LIST}?limit=2`, LIST, '/openapi.json', '/metrics']) {
    const plain = await raw('GET', path);
    const coded = await raw('GET', path, GZIP);
    assert.deepEqual([plain.status, coded.status], [200, 200]);
    assert.equal(plain.headers['content-encoding'], undefined);
    assert.equal(coded.headers['content-encoding'], 'gzip', path);
    for (const answer of [plain, coded]) {
      assert.equal(answer.headers.vary, 'accept-encoding', path);
      assert.equal(Number(answer.headers['content-length']), answer.bytes.length, path);
    }
    assert.ok(coded.bytes.length < plain.bytes.length / 2, path);
    if (path !== '/metrics') assert.deepEqual(gunzipSync(coded.bytes), plain.bytes, path);
  }
  const [small, large] = await Promise.all([raw('GET', `${LIST}?limit=2`), raw('GET', LIST)]);
  assert.ok(small.bytes.length <= GZIP_INLINE_BYTES_MAX && large.bytes.length > GZIP_INLINE_BYTES_MAX);
});

test('HEAD has the headers of GET and no body', async () => {
  for (const headers of [{}, GZIP]) {
    const got = await raw('GET', LIST, headers);
    const head = await raw('HEAD', LIST, headers);
    assert.equal(head.bytes.length, 0);
    for (const name of ['content-length', 'content-encoding', 'content-type', 'vary']) {
      assert.equal(head.headers[name], got.headers[name], name);
    }
  }
});

test('tiny answers go as they are and do not vary', async () => {
  const health = await raw('GET', '/health', GZIP);
  assert.ok(health.bytes.length < GZIP_BYTES_MIN);
  assert.deepEqual([health.headers['content-encoding'], health.headers.vary], [undefined, undefined]);
});

test('large errors are gzipped too', async () => {
  const flood = Object.fromEntries(
    Array.from({ length: 40 }, (_, index) => [`${'k'.repeat(100)}${index}`, 1]),
  );
  const headers = { ...GZIP, 'content-type': 'application/json' };
  const answer = await raw('POST', LIST, headers, JSON.stringify(flood));
  assert.deepEqual([answer.status, answer.headers['content-encoding']], [400, 'gzip']);
  assert.equal(JSON.parse(gunzipSync(answer.bytes).toString()).code, 'UNKNOWN_FIELD');
});

test('pipelined answers of every size come in their order', async () => {
  const ask = (path: string, last = false) =>
    `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n${last ? 'Connection: close\r\n' : ''}\r\n`;
  const text = await node.raw(ask(LIST), ask('/health'), ask(`${LIST}?limit=1`), ask('/nowhere', true));
  assert.deepEqual(
    [...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map((match) => match[1]),
    ['200', '200', '200', '404'],
  );
});

test('a client that leaves while its answer is compressed holds nothing', async () => {
  const clients = Array.from({ length: 20 }, () => {
    const outgoing = request({ host: '127.0.0.1', port: node.port, path: LIST, headers: GZIP });
    outgoing.on('error', () => {});
    outgoing.end();
    return outgoing;
  });
  await new Promise((resolve) => setImmediate(resolve));
  for (const client of clients) client.destroy();
  await untilInflight(node, 1);
});

const HEADERS: readonly [string | undefined, boolean][] = [
  [undefined, false],
  ['', false],
  ['gzip', true],
  ['GZIP', true],
  ['x-gzip', true],
  ['deflate, br', false],
  ['deflate, gzip;q=1.0, *;q=0.5', true],
  ['gzip, deflate, br', true],
  ['*', true],
  ['*;q=0', false],
  ['gzip;q=0', false],
  ['gzip;q=0.000', false],
  ['gzip; q=0, *', false],
  ['*;q=0, gzip', true],
  ['gzip;q=0.001', true],
  ['gzip ; Q=0.5', true],
  ['gzip;q=0.5, identity', false],
  ['gzip;q=0.5, identity;q=0.4', true],
  ['gzip;q=2', false],
  ['gzip;q=x', false],
  ['gzip;q=', false],
  ['gzipped', false],
  ['identity', false],
  [',,;;,', false],
];
for (const [header, expected] of HEADERS) {
  test(`Accept-Encoding ${JSON.stringify(header)} ${expected ? 'takes' : 'does not take'} gzip`, () => {
    assert.equal(acceptsGzip(header), expected);
  });
}

test('event streams are never compressed', () => {
  assert.equal(isCompressible('text/event-stream; charset=utf-8', 1_000_000), false);
  assert.equal(isCompressible('application/json', GZIP_BYTES_MIN), true);
  assert.equal(isCompressible('application/json', GZIP_BYTES_MIN - 1), false);
});
