import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type HttpNode, openHttpNode } from './http-node.js';

let node: HttpNode;
before(async () => {
  node = await openHttpNode({ apiKey: 'sesame' });
});
after(() => node.close());

const status = async (headers: Record<string, string>, path = '/api/v1/memories') =>
  (await node.send('GET', path, undefined, headers)).status;

test('a bearer token is the API key', async () => {
  assert.equal(await status({ authorization: 'Bearer sesame' }), 200);
  assert.equal(await status({ authorization: 'bearer sesame' }), 200);
  assert.equal(await status({ authorization: 'Bearer wrong' }), 401);
  assert.equal(await status({ authorization: 'Bearer ' }), 401);
  assert.equal(await status({ authorization: 'sesame' }), 401);
  assert.equal(await status({ authorization: 'Basic c2VzYW1lOnNlc2FtZQ==' }), 401);
});

test('the challenge names both ways', async () => {
  const answer = await node.send('GET', '/api/v1/memories');
  assert.equal(answer.status, 401);
  assert.match(answer.headers.get('www-authenticate')!, /Bearer realm=.*ApiKey realm=/);
});

test('where both headers have a key, both must be right; a scheme of a proxy does not count', async () => {
  assert.equal(await status({ 'x-api-key': 'sesame', authorization: 'Bearer sesame' }), 200);
  assert.equal(await status({ 'x-api-key': 'sesame', authorization: 'Bearer wrong' }), 401);
  assert.equal(await status({ 'x-api-key': 'wrong', authorization: 'Bearer sesame' }), 401);
  assert.equal(await status({ 'x-api-key': 'sesame', authorization: 'Basic eDp5' }), 200);
});

test('wrong bearer tokens are waited for as wrong keys are, and shut no query string before', async () => {
  const fresh = await openHttpNode({ apiKey: 'sesame' });
  try {
    const ask = (headers: Record<string, string>) =>
      fresh.send('GET', '/api/v1/memories', undefined, headers);
    for (let index = 0; index < 5; index += 1) {
      assert.equal((await ask({ authorization: 'Bearer x' })).status, 401);
    }
    assert.equal((await ask({ authorization: 'Bearer sesame' })).json?.['code'], 'AUTH_BACKOFF');
    assert.equal((await ask({ 'x-api-key': 'sesame' })).json?.['code'], 'AUTH_BACKOFF');
    assert.equal((await fresh.send('GET', '/api/v1/memories?api_key=sesame')).status, 200);
  } finally {
    await fresh.close();
  }
});
