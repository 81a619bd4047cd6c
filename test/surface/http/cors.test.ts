import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type HttpNode, openHttpNode } from './http-node.js';

const PAGE = 'https://app.example';

/** Raw, because `fetch` sets no Origin and knows no OPTIONS of its own making. */
async function ask(node: HttpNode, method: string, path: string, headers: Record<string, string>) {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const text = await node.raw(
    `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n${lines.join('')}\r\n`,
  );
  const header = (name: string) => new RegExp(`^${name}: (.*)\r$`, 'im').exec(text)?.[1];
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]), text, header };
}

const PREFLIGHT = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-api-key' };

test('other sites get nothing by default, and a preflight a clear refusal', async () => {
  const node = await openHttpNode();
  try {
    const asked = await ask(node, 'GET', '/api/v1/memories', { origin: PAGE });
    assert.equal(asked.status, 403);
    const preflight = await ask(node, 'OPTIONS', '/api/v1/memories', { origin: PAGE, ...PREFLIGHT });
    assert.equal(preflight.status, 403);
    assert.match(preflight.text, /"code":"FORBIDDEN"/);
    // A page of another port of this machine is a page of another site.
    const local = { origin: 'http://localhost:3000', ...PREFLIGHT };
    const own = await ask(node, 'OPTIONS', '/api/v1/memories', local);
    assert.equal(own.status, 403);
    assert.match(own.text, /cors_origins.*"code":"FORBIDDEN"/);
    for (const answer of [asked, preflight, own]) assert.doesNotMatch(answer.text, /access-control-/i);
    assert.equal((await ask(node, 'OPTIONS', '/api/v1/memories', {})).status, 405, 'no preflight');
    assert.equal((await ask(node, 'OPTIONS', '/nowhere', { origin: PAGE, ...PREFLIGHT })).status, 403);
  } finally {
    await node.close();
  }
});

test('listed origins, and only they, may use the API from a page', async () => {
  const node = await openHttpNode({ corsOrigins: [PAGE], apiKey: 'k' });
  try {
    const preflight = await ask(node, 'OPTIONS', '/api/v1/memories/x', { origin: PAGE, ...PREFLIGHT });
    assert.equal(preflight.status, 204, preflight.text);
    assert.equal(preflight.header('access-control-allow-origin'), PAGE);
    assert.deepEqual(preflight.header('access-control-allow-methods')?.split(', ').sort(), [
      'DELETE',
      'GET',
      'HEAD',
      'PUT',
    ]);
    assert.match(preflight.header('access-control-allow-headers') ?? '', /x-api-key/);
    assert.equal(preflight.header('content-length'), undefined);
    assert.equal(preflight.header('access-control-allow-credentials'), undefined);

    const denied = await ask(node, 'GET', '/api/v1/memories', { origin: PAGE });
    assert.deepEqual([denied.status, denied.header('access-control-allow-origin')], [401, PAGE]);
    const read = await ask(node, 'GET', '/api/v1/memories', { origin: PAGE, 'x-api-key': 'k' });
    assert.equal(read.status, 200);
    assert.equal(read.header('access-control-allow-origin'), PAGE);
    assert.equal(read.header('vary'), 'origin');
    for (const origin of [
      `${PAGE}.evil`,
      'https://evil.example',
      'http://app.example',
      'null',
      `${PAGE}:8443`,
    ]) {
      const other = await ask(node, 'GET', '/api/v1/memories', { origin, 'x-api-key': 'k' });
      assert.equal(other.status, 403, origin);
      assert.doesNotMatch(other.text, /access-control-/i, origin);
    }
  } finally {
    await node.close();
  }
});
