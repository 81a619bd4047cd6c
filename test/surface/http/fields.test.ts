import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type HttpNode, openHttpNode } from './http-node.js';

const headers = { 'x-agent-id': 'ai:a' };

describe('fields over HTTP', () => {
  let node: HttpNode;
  before(async () => {
    node = await openHttpNode();
  });
  after(() => node.close());
  const store = (title: string, more: object = {}) =>
    node.send('POST', '/api/v1/memories', { title, content: 'x', ...more }, headers);

  it('count a title in characters', async () => {
    assert.equal((await store('⛵'.repeat(512))).status, 201);
    assert.equal((await store('😀'.repeat(512))).status, 201);
    const long = await store('😀'.repeat(513));
    assert.deepEqual([long.status, long.json!['error']], [400, 'title: must be at most 512 characters']);
    const full = await store('😀'.repeat(512), { on_conflict: 'version' });
    assert.equal(full.status, 409, 'no number fits behind it');
    await store('😀'.repeat(500));
    const next = await store('😀'.repeat(500), { on_conflict: 'version' });
    assert.equal(next.json!['title'], `${'😀'.repeat(500)} (2)`);
  });

  it('say what an If-Match must be', async () => {
    const { json } = await store('versioned');
    const path = `/api/v1/memories/${json!['id']}`;
    for (const word of ['one', 'W/"1"', '*', '1.5']) {
      const answer = await node.send('PUT', path, { priority: 1 }, { ...headers, 'if-match': word });
      assert.deepEqual(
        [answer.status, answer.json!['error']],
        [400, 'expected_version: must be an integer version'],
        word,
      );
    }
  });
});
