import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type HttpNode, openHttpNode } from './http-node.js';

const KEY = { 'x-api-key': 'sesame' };
const LIST = '/api/v1/memories';

async function withNode(work: (node: HttpNode) => Promise<void>): Promise<void> {
  const node = await openHttpNode({ apiKey: 'sesame', corsOrigins: ['https://app.example'] });
  try {
    await work(node);
  } finally {
    await node.close();
  }
}

describe('the back-off after wrong keys', () => {
  it('is not reached by what a page of another site embeds', () =>
    withNode(async (node) => {
      const ask = async (headers: readonly string[]) => {
        const text = await node.raw(
          `GET ${LIST}?api_key=sesame HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n${headers.map((line) => `${line}\r\n`).join('')}\r\n`,
        );
        return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]);
      };
      assert.equal(await ask(['Sec-Fetch-Site: cross-site']), 403);
      assert.equal(await ask(['Sec-Fetch-Site: same-site']), 403);
      assert.equal(await ask(['Sec-Fetch-Site: cross-site', 'Origin: https://evil.example']), 403);
      assert.equal(await ask(['Sec-Fetch-Site: cross-site', 'Origin: https://app.example']), 200);
      assert.equal(await ask(['Sec-Fetch-Site: same-origin']), 200);
      assert.equal(await ask(['Sec-Fetch-Site: none']), 200);
    }));

  it('shuts only the query string after wrong keys of the query string', () =>
    withNode(async (node) => {
      for (let index = 0; index < 5; index += 1) {
        assert.equal((await node.send('GET', `${LIST}?api_key=x`)).status, 401);
      }
      assert.equal((await node.send('GET', `${LIST}?api_key=sesame`)).json?.['code'], 'AUTH_BACKOFF');
      assert.equal((await node.send('GET', LIST, undefined, KEY)).status, 200);
    }));

  it('counts on after one right key of the same address', () =>
    withNode(async (node) => {
      const wrong = async (count: number) => {
        for (let index = 0; index < count; index += 1) {
          assert.equal((await node.send('GET', LIST, undefined, { 'x-api-key': 'x' })).status, 401);
        }
      };
      await wrong(4);
      assert.equal((await node.send('GET', LIST, undefined, KEY)).status, 200);
      await wrong(3);
      assert.equal((await node.send('GET', LIST, undefined, KEY)).json?.['code'], 'AUTH_BACKOFF');
    }));
});
