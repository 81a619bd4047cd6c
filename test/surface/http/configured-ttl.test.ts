import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openHttpNode } from './http-node.js';

const headers = { 'x-agent-id': 'ai:a' };
const TEN_DAYS_S = 864_000;

const secondsLeft = (expiresAt: unknown) => (Date.parse(String(expiresAt)) - Date.now()) / 1000;

test('a configured time to live holds for what is restored or consolidated, not only for what is stored', async () => {
  const node = await openHttpNode({
    midTtlSeconds: TEN_DAYS_S,
    adminAgentIds: ['ai:a'],
    adminHeaderTrust: true,
  });
  const send = (method: string, path: string, body?: unknown) =>
    node.send(method, `/api/v1${path}`, body, headers);
  const store = async (title: string) =>
    String((await send('POST', '/memories', { title, content: 'x' })).json!['id']);
  try {
    const id = await store('passed');
    const soon = new Date(Date.now() + 800).toISOString();
    assert.equal((await send('PUT', `/memories/${id}`, { expires_at: soon })).status, 200);
    await new Promise((resolve) => setTimeout(resolve, 850));
    assert.deepEqual((await send('POST', '/gc')).json, { expired_deleted: 1 });
    const restored = (await send('POST', `/archive/${id}/restore`)).json!;
    assert.equal(restored['expiry_renewed'], true);
    assert.ok(
      Math.abs(secondsLeft(restored['expires_at']) - TEN_DAYS_S) < 60,
      String(restored['expires_at']),
    );

    const ids = [await store('one'), await store('two')];
    const { json } = await send('POST', '/consolidate', { ids, title: 'both', tier: 'mid' });
    const read = await send('GET', `/memories/${json!['id']}`);
    const { expires_at: expiresAt } = read.json!['memory'] as Record<string, unknown>;
    assert.ok(Math.abs(secondsLeft(expiresAt) - TEN_DAYS_S) < 60, String(expiresAt));
  } finally {
    await node.close();
  }
});
