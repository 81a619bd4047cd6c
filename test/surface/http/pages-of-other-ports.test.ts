import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type HttpNode, openHttpNode } from './http-node.js';

const LISTED = 'https://app.example';
const BODY = JSON.stringify({ title: 'planted', content: 'by a page', on_conflict: 'version' });

describe('a page of another port', () => {
  let node: HttpNode;
  before(async () => {
    node = await openHttpNode({ corsOrigins: [LISTED] });
  });
  after(() => node.close());

  async function post(headers: readonly string[], path = '/api/v1/memories') {
    const lines = [`Host: 127.0.0.1:${node.port}`, 'Connection: close', ...headers];
    const text = await node.raw(
      `POST ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
    );
    return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]);
  }

  it('may not write, whatever its loopback name', async () => {
    for (const origin of ['http://localhost:3000', 'http://127.0.0.1', 'http://x.localhost', 'null']) {
      assert.equal(await post([`Origin: ${origin}`]), 403, origin);
      assert.equal(await post([`Origin: ${origin}`, 'Content-Type: application/json']), 403, origin);
    }
    assert.equal((await node.counts()).rows, 0);
  });

  it('needs a Content-Type where a browser sends the body', async () => {
    const own = `Origin: http://127.0.0.1:${node.port}`;
    assert.equal(await post([own]), 415);
    assert.equal(await post(['Sec-Fetch-Site: none']), 415);
    assert.equal(await post([`Origin: ${LISTED}`]), 415);
    for (const page of [own, `Origin: ${LISTED}`, 'Sec-Fetch-Site: same-origin']) {
      assert.equal(await post([page, 'Content-Type: application/json']), 201, page);
    }
    assert.equal(await post([]), 201, 'a program needs none');
  });
});
