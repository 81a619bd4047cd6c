import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ERRORS } from '../../../protocol/base/errors.js';
import { linking } from '../../support/memories.js';
import { type Answer, type HttpNode, openHttpNode } from './http-node.js';

const admin = { 'x-agent-id': 'ai:admin' };
const alice = { 'x-agent-id': 'ai:alice' };
const bob = { 'x-agent-id': 'ai:bob' };

let node: HttpNode;
before(async () => {
  node = await openHttpNode({ adminAgentIds: ['ai:admin'], adminHeaderTrust: true });
});
after(() => node.close());

const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = alice) =>
  node.send(method, `/api/v1${path}`, body, headers);
let serial = 0;
async function store(fields: Record<string, unknown> = {}, headers = alice): Promise<string> {
  serial += 1;
  const answer = await send(
    'POST',
    '/memories',
    { title: `memory ${serial}`, content: `content ${serial}`, ...fields },
    headers,
  );
  assert.equal(answer.status, 201, answer.text);
  return String(answer.json!['id']);
}
const is = (answer: Answer, code: keyof typeof ERRORS) => {
  assert.equal(answer.json?.['code'], code, answer.text);
  assert.equal(answer.status, ERRORS[code].http, answer.text);
};
const get = (id: string, headers = alice) => send('GET', `/memories/${id}`, undefined, headers);

test('DELETE answers deleted and archives', async () => {
  const id = await store();
  const answer = await send('DELETE', `/memories/${id}`);
  assert.equal(answer.status, 200);
  assert.equal(answer.json?.['deleted'], true);
  assert.equal((await send('POST', `/archive/${id}/restore`)).status, 200);
});

test('archives a bare array of ids and an object, and restores without loss', async () => {
  const first = await store({ tags: ['x', 'y'], tier: 'short', metadata: { deep: [1, null] }, priority: 9 });
  const before = (await get(first)).json!['memory'];
  const other = await store({}, bob);
  const bare = await send('POST', '/archive', [first, other, 'no-such-id', first]);
  assert.equal(bare.status, 200);
  assert.deepEqual(bare.json, {
    archived: [first],
    missing: [other, 'no-such-id'],
    count: 1,
    reason: 'archive',
  });
  is(await get(first), 'NOT_FOUND');
  const listed = await send('GET', '/archive', undefined, admin);
  const [row] = listed.json!['archived'] as Record<string, unknown>[];
  assert.equal(row?.['id'], first);
  assert.equal(row?.['archive_reason'], 'archive');
  assert.equal(row?.['original_tier'], 'short');
  assert.ok(String(row?.['archived_at']).endsWith('Z'));

  const restored = await send('POST', `/archive/${first}/restore`);
  assert.deepEqual([restored.status, restored.json], [200, { restored: true, id: first }]);
  assert.deepEqual((await get(first)).json!['memory'], before);
  is(await send('POST', `/archive/${first}/restore`), 'NOT_FOUND');

  const named = await send('POST', '/archive', { ids: [first], reason: 'tidy' });
  assert.equal(named.json?.['reason'], 'tidy');
});

test('refuses what is no list of ids, and more than a thousand', async () => {
  is(await send('POST', '/archive', []), 'VALIDATION_FAILED');
  is(await send('POST', '/archive', [7]), 'VALIDATION_FAILED');
  is(await send('POST', '/archive', ['a/b']), 'VALIDATION_FAILED');
  is(await send('POST', '/archive', { ids: ['a'], why: 'x' }), 'UNKNOWN_FIELD');
  is(await send('POST', '/archive', { ids: ['a'], reason: ' ' }), 'VALIDATION_FAILED');
  is(
    await send(
      'POST',
      '/archive',
      Array.from({ length: 1001 }, (_, n) => `id-${n}`),
    ),
    'VALIDATION_FAILED',
  );
  is(await send('POST', '/archive'), 'MALFORMED_BODY');
  is(await send('GET', '/archive'), 'ADMIN_REQUIRED');
  is(await send('GET', '/archive?limit=0', undefined, admin), 'VALIDATION_FAILED');
  is(await send('GET', '/archive/stats'), 'ADMIN_REQUIRED');
  assert.equal((await send('GET', '/archive?limit=99999', undefined, admin)).status, 200);
});

test('a restore collides with a live row of its title and tells others nothing', async () => {
  const id = await store({ title: 'contested' });
  await send('POST', '/archive', [id]);
  const holder = await store({ title: 'contested', scope: 'private' }, bob);
  const collision = await send('POST', `/archive/${id}/restore`);
  is(collision, 'ARCHIVE_RESTORE_COLLISION');
  assert.ok(!collision.text.includes(holder));
  await send('DELETE', `/memories/${holder}`, undefined, bob);
  assert.equal((await send('POST', `/archive/${id}/restore`)).status, 200);
});

test('a private archived row does not exist for others', async () => {
  const id = await store({ scope: 'private' });
  await send('POST', '/archive', [id]);
  is(await send('POST', `/archive/${id}/restore`, undefined, bob), 'NOT_FOUND');
  is(await send('POST', `/archive/${id.slice(0, 8)}/restore`, undefined, bob), 'NOT_FOUND');
  assert.equal((await send('POST', `/archive/${id.slice(0, 8)}/restore`)).status, 200);
  const open = await store();
  await send('POST', '/archive', [open]);
  is(await send('POST', `/archive/${open}/restore`, undefined, bob), 'FORBIDDEN');
});

test('a purge takes the own rows, and everything for an admin', async () => {
  const mine = await store();
  const theirs = await store({}, bob);
  await send('POST', '/archive', [mine]);
  await send('POST', '/archive', [theirs], bob);
  is(await send('DELETE', '/archive?older_than_days=-1'), 'VALIDATION_FAILED');
  is(await send('DELETE', '/archive?older_than_days=36501'), 'VALIDATION_FAILED');
  const recent = await send('DELETE', '/archive?older_than_days=1');
  assert.deepEqual(recent.json, { purged: 0, owner_scope: 'caller' });
  const own = await send('DELETE', '/archive');
  assert.equal(own.json?.['owner_scope'], 'caller');
  assert.ok(Number(own.json?.['purged']) >= 1);
  is(await send('POST', `/archive/${mine}/restore`), 'NOT_FOUND');
  assert.equal((await send('POST', `/archive/${theirs}/restore`, undefined, bob)).status, 200);
  await send('POST', '/archive', [theirs], bob);
  const stats = await send('GET', '/archive/stats', undefined, admin);
  const all = await send('DELETE', '/archive', undefined, admin);
  assert.deepEqual(all.json, { purged: stats.json?.['archived_total'], owner_scope: 'admin' });
  const empty = await send('GET', '/archive/stats', undefined, admin);
  assert.deepEqual(empty.json, { archived_total: 0, by_namespace: [] });
});

test('forget is the admin’s, needs a filter, and ORs the words of its pattern', async () => {
  await store({ namespace: 'forget', title: 'one', content: 'apples' });
  await store({ namespace: 'forget', title: 'two', content: 'pears' }, bob);
  const stays = await store({ namespace: 'forget', title: 'three', content: 'plums' });
  is(await send('POST', '/forget', { namespace: 'forget' }), 'ADMIN_REQUIRED');
  is(await send('POST', '/forget', {}, admin), 'VALIDATION_FAILED');
  is(await send('POST', '/forget', { pattern: '"*(' }, admin), 'VALIDATION_FAILED');
  is(await send('POST', '/forget', { namespace: 'forget', confirm_global: true }, admin), 'UNKNOWN_FIELD');
  const answer = await send('POST', '/forget', { namespace: 'forget', pattern: 'apple pear' }, admin);
  assert.deepEqual([answer.status, answer.json], [200, { deleted: 2 }]);
  assert.equal((await get(stays)).status, 200);
  const archived = await send('GET', '/archive?namespace=forget', undefined, admin);
  assert.equal(archived.json?.['count'], 2);
});

test('gc removes what has expired', async () => {
  const id = await store();
  await send('PUT', `/memories/${id}`, { expires_at: new Date(Date.now() + 800).toISOString() });
  await new Promise((resolve) => setTimeout(resolve, 850));
  is(await send('POST', '/gc'), 'ADMIN_REQUIRED');
  assert.deepEqual((await send('POST', '/gc', undefined, admin)).json, { expired_deleted: 1 });
  assert.deepEqual((await send('POST', '/gc', {}, admin)).json, { expired_deleted: 0 });
  // Its expiry has passed, so it comes back with a new one, and the answer says so.
  const restored = await send('POST', `/archive/${id}/restore`);
  assert.equal(restored.json?.['expiry_renewed'], true);
  assert.equal((await get(id)).status, 200);
});

test('consolidates into one row and archives the sources', async () => {
  const ids = [
    await store({ title: 'c1', content: 'first text', tags: ['a', 'b'], priority: 3 }),
    await store({ title: 'c2', content: 'second text', tags: ['b', 'c'], priority: 8, confidence: 0.5 }),
  ];
  const answer = await send('POST', '/consolidate', { ids, title: 'c1', namespace: 'global' });
  assert.equal(answer.status, 201, answer.text);
  const { id, consolidated, summary, content, memory } = answer.json as Record<string, never>;
  assert.equal(consolidated, 2);
  assert.equal(summary, '# c1\nfirst text\n\n# c2\nsecond text');
  assert.equal(content, summary);
  assert.deepEqual(memory, { id, title: 'c1', content, namespace: 'global' });
  const row = (await get(String(id))).json!['memory'] as Record<string, unknown>;
  assert.deepEqual(row['tags'], ['a', 'b', 'c']);
  assert.equal(row['priority'], 8);
  assert.equal(row['tier'], 'long');
  assert.deepEqual(row['metadata'], { agent_id: 'ai:alice', attest_level: 'claimed', derived_from: ids });
  for (const source of ids) is(await get(source), 'NOT_FOUND');
});

test('a consolidation is refused as a whole', async () => {
  const mine = await store();
  const theirs = await store({}, bob);
  const hidden = await store({ scope: 'private' }, bob);
  const taken = await store({ title: 'taken' }, bob);
  const second = await store();
  const refused = async (body: Record<string, unknown>, code: keyof typeof ERRORS) => {
    const before = await node.counts();
    const answer = await send('POST', '/consolidate', { title: 'x', ...body });
    is(answer, code);
    assert.deepEqual(await node.counts(), before);
    return answer;
  };
  await refused({ ids: [mine] }, 'VALIDATION_FAILED');
  await refused({ ids: [mine, mine] }, 'VALIDATION_FAILED');
  await refused({ ids: Array.from({ length: 101 }, (_, n) => `i${n}`) }, 'VALIDATION_FAILED');
  await refused({ ids: [mine, theirs] }, 'FORBIDDEN');
  await refused({ ids: [mine, second], title: 'taken' }, 'CONFLICT');
  await refused({ ids: [mine, second], use_llm: true }, 'LLM_UNAVAILABLE');
  const missing = await refused({ ids: [mine, hidden, 'gone'] }, 'NOT_FOUND');
  assert.deepEqual(missing.json?.['missing'], [hidden, 'gone']);
  assert.equal((await get(taken, bob)).status, 200);
});

test('a private source makes a private result', async () => {
  const ids = [await store({ scope: 'private' }), await store()];
  const answer = await send('POST', '/consolidate', { ids, title: 'secret sum' });
  const id = String(answer.json?.['id']);
  is(await get(id, bob), 'NOT_FOUND');
  const row = (await get(id)).json!['memory'] as { metadata: Record<string, unknown> };
  assert.equal(row.metadata['scope'], 'private');
});

test('check_duplicate needs the embedder', async () => {
  const body = { title: 'x', content: 'y' };
  is(await send('POST', '/check_duplicate', body), 'UNAVAILABLE');
  is(await send('POST', '/check_duplicate', { ...body, threshold: 2 }), 'VALIDATION_FAILED');
});

test('contradictions are pairs about one subject that differ', async () => {
  const a = await store({ namespace: 'facts', title: 'deploy window', content: 'Sunday' });
  const b = await store({
    namespace: 'facts',
    title: 'deploy window',
    content: 'Monday',
    on_conflict: 'version',
  });
  await store({ namespace: 'facts', title: 'lunch menu', content: 'soup' });
  await store({ namespace: 'facts', title: 'deploy windows', content: 'hidden', scope: 'private' }, bob);
  is(await send('GET', '/contradictions'), 'VALIDATION_FAILED');
  const byNamespace = await send('GET', '/contradictions?namespace=facts');
  assert.equal((byNamespace.json!['memories'] as unknown[]).length, 3);
  const [link, ...rest] = byNamespace.json!['links'] as Record<string, unknown>[];
  assert.deepEqual(rest, []);
  assert.deepEqual(new Set([link?.['source_id'], link?.['target_id']]), new Set([a, b]));
  assert.deepEqual([link?.['relation'], link?.['synthesized']], ['contradicts', true]);
  const byTopic = await send('GET', '/contradictions?topic=deploy%20window');
  assert.equal((byTopic.json!['links'] as unknown[]).length, 1);
});

test('contradictions come with what stored links say, as far as it is valid and visible', async () => {
  const more = { namespace: 'claims', kind: 'claim' };
  const flat = await store({ ...more, title: 'the earth is flat', content: 'flat' });
  const round = await store({ ...more, title: 'a globe', content: 'round', namespace: 'elsewhere' });
  const settled = await store({
    ...more,
    title: 'the earth is flat',
    content: 'a disc',
    on_conflict: 'version',
  });
  const hidden = await store({ ...more, title: 'hidden', content: 'cube', scope: 'private' }, bob);
  const valid_until = '2026-01-01T00:00:00.000Z';
  for (const [target_id, rest] of [
    [round, {}],
    [settled, { valid_until }],
    [hidden, {}],
  ] as const) {
    const link = { ...linking(flat, target_id).link, relation: 'contradicts', ...rest } as never;
    assert.ok((await node.services.store.execute({ kind: 'import-link', link })).ok);
  }
  const { json } = await send('GET', '/contradictions?namespace=claims');
  const ids = (json!['memories'] as { id: string }[]).map(({ id }) => id);
  assert.deepEqual(new Set(ids), new Set([flat, settled, round]));
  assert.deepEqual(json!['links'], [
    { source_id: flat, target_id: round, relation: 'contradicts', synthesized: false },
  ]);
  assert.equal('truncated' in json!, false);
});

test('the search for contradictions ends where its work would grow with the square of the rows', async () => {
  const rows = Array.from({ length: 500 }, (_, n) => ({
    title: `t${n} x`,
    content: `c${n}`,
    namespace: 'many',
  }));
  assert.equal((await send('POST', '/memories/bulk', rows)).json!['created'], 500);
  const { json } = await send('GET', '/contradictions?namespace=many&limit=1000');
  assert.equal(json!['truncated'], true);
});
