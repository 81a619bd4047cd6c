import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Answer, type HttpNode, openHttpNode } from './http-node.js';

const KEY = 'idempotency-key';

describe('Idempotency-Key', () => {
  let node: HttpNode;
  before(async () => {
    node = await openHttpNode({ nearDuplicate: 'refuse' });
  });
  after(() => node.close());

  const post = (path: string, key: string | null, body: object, agent: string | null = 'ai:writer') =>
    node.send('POST', `/api/v1${path}`, body, {
      ...(key === null ? {} : { [KEY]: key }),
      ...(agent === null ? {} : { 'x-agent-id': agent }),
    });
  const store = (key: string | null, title: string, more: object = {}, agent?: string | null) =>
    post('/memories', key, { title, content: `what ${title} says`, ...more }, agent);
  const idOf = ({ status, json, text }: Answer) => {
    assert.equal(status, 201, text);
    return json!['id'];
  };

  it('answers the first call again, one after the other and at the same time', async () => {
    for (const on_conflict of ['error', 'version']) {
      const before = (await node.counts()).rows;
      const title = `alpha ${on_conflict}`;
      const first = idOf(await store(title.replace(' ', '-'), title, { on_conflict }));
      assert.equal(idOf(await store(title.replace(' ', '-'), title, { on_conflict })), first);
      const twins = await Promise.all(
        [1, 2, 3].map(() => store(`twin-${on_conflict}`, `beta ${on_conflict}`, { on_conflict })),
      );
      assert.equal(new Set(twins.map(idOf)).size, 1);
      assert.equal((await node.counts()).rows, before + 2);
    }
    const message = { target_agent_id: 'ai:reader', title: 'hello', payload: 'read this' };
    const sent = await Promise.all([post('/notify', 'n', message), post('/notify', 'n', message)]);
    assert.equal(new Set(sent.map(idOf)).size, 1);
  });

  it('counts for one agent, one operation and one input', async () => {
    const first = idOf(await store('shared', 'gamma one'));
    assert.notEqual(idOf(await store('shared', 'delta two')), first);
    const other = await store('shared', 'gamma one', {}, 'ai:other');
    assert.deepEqual([other.status, other.json!['code']], [409, 'CONFLICT']);
    const same = { title: 'epsilon', content: 'its own text', namespace: 'ns/a' };
    const a = idOf(await post('/memories', 'k', same));
    const b = await post('/memories', 'k', { ...same, namespace: 'ns/b', force: true }, 'ai:other');
    assert.notEqual(idOf(b), a);
  });

  it('lets the first try meet everything that refuses a store', async () => {
    const content = 'Ann Lee does not restart db-17 before 04:00 on 2026-03-01.';
    idOf(await store(null, 'Restart of db-17', { content }));
    const near = { content: `  ${content}\n` };
    const refused = await store('near', 'restart of db-17.', near);
    assert.equal(refused.status, 409, refused.text);
    assert.equal((await store('near', 'restart of db-17.', near)).status, 409);
  });

  it('is refused where it could not be kept', async () => {
    const before = await node.counts();
    for (const [key, agent, code] of [
      ['with space', 'ai:writer', 'VALIDATION_FAILED'],
      ['x'.repeat(129), 'ai:writer', 'VALIDATION_FAILED'],
      ['k', null, 'VALIDATION_FAILED'],
    ] as const) {
      const refused = await store(key, 'theta', {}, agent);
      assert.deepEqual([refused.status, refused.json!['code']], [400, code], key);
    }
    const merge = await store('k', 'theta', { on_conflict: 'merge' });
    assert.deepEqual([merge.status, merge.json!['code']], [400, 'INVALID_ARGUMENT']);
    const promoted = await post('/memories/abcd/promote', 'k', {});
    assert.equal(promoted.json!['code'], 'INVALID_ARGUMENT');
    assert.deepEqual(await node.counts(), before);
    const read = await node.send('GET', '/api/v1/memories?limit=1', undefined, { [KEY]: 'k' });
    assert.equal(read.status, 200);
  });

  it('is described for the writes that take it', async () => {
    const { json } = await node.send('GET', '/openapi.json');
    const { paths } = json as { paths: Record<string, Record<string, { parameters?: { $ref?: string }[] }>> };
    const takes = (path: string, method: string) =>
      JSON.stringify(paths[path]![method]!.parameters).includes('IdempotencyKey');
    assert.equal(takes('/api/v1/memories', 'post'), true);
    assert.equal(takes('/api/v1/memories/{id}', 'put'), false);
  });
});
