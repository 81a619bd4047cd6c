import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openHttpNode } from './http-node.js';

const headers = { 'x-agent-id': 'ai:a' };
const body = (title: string, more: object = {}) => ({ title, content: 'x'.repeat(100), ...more });

test('64 writers at once end exactly at the cap of the day', async () => {
  const node = await openHttpNode({ maxMemoriesPerDay: 100 });
  try {
    const answers = await Promise.all(
      Array.from({ length: 164 }, (_, n) => node.send('POST', '/api/v1/memories', body(`t${n}`), headers)),
    );
    assert.equal(answers.filter((answer) => answer.status === 201).length, 100);
    const refused = answers.filter((answer) => answer.status !== 201);
    assert.ok(refused.every(({ status }) => status === 429));
    const { retry_after_secs: seconds, ...quota } = refused[0]!.json!;
    const untilMidnight = (86_400_000 - (Date.now() % 86_400_000)) / 1000;
    assert.ok(Number.isInteger(seconds) && Math.abs(Number(seconds) - untilMidnight) < 60, String(seconds));
    assert.equal(refused[0]!.headers.get('retry-after'), String(seconds));
    assert.deepEqual(
      { ...quota, error: '' },
      {
        error: '',
        code: 'QUOTA_EXCEEDED',
        limit: 'memories_per_day',
        current: 100,
        max: 100,
        agent_id: 'ai:a',
      },
    );
    assert.equal((await node.counts()).rows, 100);
    // Another namespace, another agent.
    const elsewhere = await node.send('POST', '/api/v1/memories', body('t0', { namespace: 'b' }), headers);
    assert.equal(elsewhere.status, 201);
    const other = await node.send('POST', '/api/v1/memories', body('u0'), { 'x-agent-id': 'ai:b' });
    assert.equal(other.status, 201);
    const status = await node.send('POST', '/api/v1/quota/status', { namespace: 'global' }, headers);
    assert.equal(status.json!['current_memories_today'], 100);
    const all = await node.send('POST', '/api/v1/quota/status', {}, headers);
    assert.equal(all.json!['current_memories_today'], 101);
    assert.equal(all.json!['namespace'], '_global');
  } finally {
    await node.close();
  }
});

test('the sum over all namespaces has the dates of its rows, and is what the row _global says', async () => {
  const node = await openHttpNode();
  try {
    const status = async (more: object = {}) =>
      (await node.send('POST', '/api/v1/quota/status', more, headers)).json!;
    await node.send('POST', '/api/v1/memories', body('one', { namespace: 'a' }), headers);
    const first = await status();
    await node.send('POST', '/api/v1/memories', body('two', { namespace: 'b' }), headers);
    const [sum, a, b] = [await status(), await status({ namespace: 'a' }), await status({ namespace: 'b' })];
    assert.equal(sum['created_at'], a['created_at']);
    assert.equal(sum['updated_at'], b['updated_at']);
    assert.ok(String(first['updated_at']) < String(sum['updated_at']));
    assert.equal(sum['current_memories_today'], 2);
    assert.deepEqual(await status({ namespace: '_global' }), sum);
  } finally {
    await node.close();
  }
});

test('bytes are given back by a delete, an update and an expiry, and never counted twice', async () => {
  const node = await openHttpNode({ maxStorageBytes: 1000 });
  const used = async () => {
    const status = await node.send('POST', '/api/v1/quota/status', { namespace: 'global' }, headers);
    return status.json!['current_storage_bytes'] as number;
  };
  try {
    const first = await node.send('POST', '/api/v1/memories', body('first'), headers);
    const one = await used();
    assert.equal(one, 5 + 100 + JSON.stringify({ agent_id: 'ai:a', attest_level: 'claimed' }).length);
    const path = `/api/v1/memories/${first.json!['id']}`;
    const large = await node.send('PUT', path, { content: 'y'.repeat(2000) }, headers);
    assert.equal(large.status, 429);
    assert.equal(large.json!['limit'], 'storage_bytes');
    // No day gives bytes back.
    assert.equal(large.headers.get('retry-after'), null);
    assert.equal(await used(), one);
    assert.equal((await node.send('PUT', path, { content: 'y'.repeat(200) }, headers)).status, 200);
    assert.equal(await used(), one + 100);
    const moved = await node.send('PUT', path, { namespace: 'elsewhere' }, headers);
    assert.equal(moved.status, 200);
    assert.equal(await used(), 0);
    assert.equal((await node.send('DELETE', path, undefined, headers)).status, 200);
    const all = await node.send('POST', '/api/v1/quota/status', {}, headers);
    assert.equal(all.json!['current_storage_bytes'], 0);
    assert.equal(all.json!['current_memories_today'], 1, 'a deleted memory was written all the same');
  } finally {
    await node.close();
  }
});

test('a refused write charges nothing', async () => {
  const node = await openHttpNode();
  try {
    await node.send('POST', '/api/v1/memories', body('taken'), headers);
    const status = () => node.send('POST', '/api/v1/quota/status', { namespace: 'global' }, headers);
    const before = await status();
    for (const bad of [body('taken'), body(''), body('x', { tier: 'no' })]) {
      assert.ok((await node.send('POST', '/api/v1/memories', bad, headers)).status >= 400);
    }
    assert.deepEqual((await status()).json, before.json);
  } finally {
    await node.close();
  }
});

test('nobody reads the quota of another agent', async () => {
  const node = await openHttpNode();
  try {
    const answer = await node.send('POST', '/api/v1/quota/status', { agent_id: 'ai:b' }, headers);
    assert.equal(answer.json!['code'], 'agent_id_body_header_mismatch');
  } finally {
    await node.close();
  }
});

test('requests without a name share one quota', async () => {
  const node = await openHttpNode({ maxMemoriesPerDay: 3 });
  try {
    const answers = [];
    for (let n = 0; n < 5; n += 1) answers.push(await node.send('POST', '/api/v1/memories', body(`t${n}`)));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 201, 201, 429, 429],
    );
  } finally {
    await node.close();
  }
});

test('an id that ends like a made one does not reach the quota of the agent before it', async () => {
  const node = await openHttpNode({ maxMemoriesPerDay: 2 });
  const shadow = { 'x-agent-id': 'ai:a:pid-7' };
  try {
    for (const title of ['one', 'two']) {
      assert.equal((await node.send('POST', '/api/v1/memories', body(title), shadow)).status, 201);
    }
    assert.equal((await node.send('POST', '/api/v1/memories', body('three'), headers)).status, 201);
    const seen = await node.send('POST', '/api/v1/quota/status', {}, shadow);
    assert.equal(seen.json!['current_memories_today'], 2, 'what the named agent has used stays its own');
    const other = { 'x-agent-id': 'ai:a:pid-8' };
    const full = await node.send('POST', '/api/v1/memories', body('four'), other);
    assert.equal(full.status, 429, 'made ids of one client share a quota');
  } finally {
    await node.close();
  }
});

test('a status makes a row for the caller alone, however many namespaces it names', async () => {
  const node = await openHttpNode({ maxMemoriesPerDay: 5 });
  const rows = async () => {
    const found = await node.services.store.query({ kind: 'list-quotas', holder: null, namespace: null });
    assert.ok(found.ok);
    return found.value.uses.map(({ holder, namespace }) => `${holder} ${namespace}`);
  };
  try {
    for (let n = 0; n < 50; n += 1) {
      const answer = await node.send('POST', '/api/v1/quota/status', { namespace: `made-up/${n}` }, headers);
      const { namespace, current_memories_today: today, max_memories_per_day: most } = answer.json!;
      assert.deepEqual([answer.status, namespace, today, most], [200, `made-up/${n}`, 0, 5]);
    }
    assert.deepEqual(await rows(), []);
    for (let n = 0; n < 3; n += 1) await node.send('POST', '/api/v1/quota/status', {}, headers);
    assert.deepEqual(await rows(), ['ai:a _global']);
  } finally {
    await node.close();
  }
});
