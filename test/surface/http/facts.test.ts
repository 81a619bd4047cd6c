import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { instantBetween } from './facts-model.js';
import { type HttpNode, openHttpNode } from './http-node.js';

/** When what a memory says holds, and what it said before. */

type Json = Record<string, unknown>;

let node: HttpNode;
before(async () => {
  node = await openHttpNode({ adminAgentIds: ['ai:admin'], adminHeaderTrust: true });
});
after(() => node.close());

async function send(
  status: number,
  method: string,
  path: string,
  body?: unknown,
  by = 'ai:alice',
): Promise<Json> {
  const answer = await node.send(method, `/api/v1${path}`, body, { 'x-agent-id': by });
  assert.equal(answer.status, status, answer.text);
  return answer.json!;
}

const store = async (body: Json, by?: string) =>
  String((await send(201, 'POST', '/memories', { content: 'where the office is', ...body }, by))['id']);
const titles = (answer: Json) =>
  ((answer['memories'] ?? answer['results']) as Json[]).map(({ title, validity }) =>
    validity === undefined ? title : `${title}: ${validity}`,
  );
const read = async (id: string) => (await send(200, 'GET', `/memories/${id}`))['memory'] as Json;

describe('a validity', () => {
  it('is stored, shown, changed and cleared, and a wrong one is refused', async () => {
    const place = { namespace: 'facts/one' };
    const dates = { valid_from: '2020-01-01', valid_until: '2022-01-01T01:00:00+01:00' };
    const id = await store({ title: 'Berlin', ...place, ...dates });
    const { valid_from, valid_until, validity } = await read(id);
    assert.deepEqual(
      [valid_from, valid_until, validity],
      ['2020-01-01T00:00:00.000Z', '2022-01-01T00:00:00.000Z', 'ended'],
    );
    for (const body of [
      { valid_until: '2019-01-01' },
      { valid_from: 'soon' },
      { valid_until: '2023-01-01T00:00' },
    ]) {
      const refused = await send(400, 'PUT', `/memories/${id}`, body);
      assert.equal(refused['code'], 'VALIDATION_FAILED');
      const again = await send(400, 'POST', '/memories', { title: 'x', content: 'x', ...dates, ...body });
      assert.deepEqual([again['code'], again['fields']], ['VALIDATION_FAILED', Object.keys(body)]);
    }
    const cleared = await send(200, 'PUT', `/memories/${id}`, { valid_until: null });
    assert.deepEqual(
      [cleared['valid_until'], cleared['version'], cleared['validity']],
      [undefined, 2, undefined],
    );
    const bulk = await send(200, 'POST', '/memories/bulk', [
      { title: 'bulk', content: 'x', ...place, ...dates },
    ]);
    assert.equal((await read((bulk['results'] as Json[])[0]!['id'] as string))['valid_until'], valid_until);
  });

  it('begins anew for a memory that has ended and is stored again', async () => {
    const body = { title: 'Paris', namespace: 'facts/two', valid_until: '2022-01-01' };
    const id = await store(body);
    const { valid_until: _, ...again } = body;
    await send(200, 'POST', '/memories', { ...again, content: 'new', on_conflict: 'merge' });
    const { valid_from, valid_until } = await read(id);
    assert.ok(String(valid_from) > '2026' && valid_until === undefined, `${valid_from} ${valid_until}`);
  });

  it('travels in an export', async () => {
    const admin = { adminAgentIds: ['ai:admin'], adminHeaderTrust: true };
    const [from, into] = [await openHttpNode(admin), await openHttpNode(admin)];
    try {
      const headers = { 'x-agent-id': 'ai:admin' };
      const body = { title: 'Oslo', content: 'x', valid_from: '2020-01-01', valid_until: '2021-01-01' };
      await from.send('POST', '/api/v1/memories', body, headers);
      const { json: document } = await from.send('GET', '/api/v1/export', undefined, headers);
      const { memories } = document as { memories: Json[] };
      const imported = await into.send('POST', '/api/v1/import', { memories }, headers);
      assert.equal(imported.status, 200, imported.text);
      const { json } = await into.send('GET', '/api/v1/memories?as_of=2020-06-01', undefined, headers);
      assert.deepEqual(titles(json!), ['Oslo: ended']);
      const wrong = [{ ...memories[0]!, id: undefined, title: 'other', valid_until: '2019-01-01' }];
      const refused = await into.send('POST', '/api/v1/import', { memories: wrong }, headers);
      assert.equal(refused.json!['failed'], 1, refused.text);
    } finally {
      await from.close();
      await into.close();
    }
  });
});

describe('as_of', () => {
  it('answers what held then, and without it what has ended ranks lower and says so', async () => {
    const place = { namespace: 'facts/three' };
    await store({ title: 'office one', ...place, valid_until: '2022-01-01' });
    await store({ title: 'office two', ...place, valid_from: '2022-01-01' });
    await store({ title: 'office three', ...place, valid_from: '2090-01-01' });
    const path = (list: string, asOf: string | null) =>
      `/${list}namespace=facts/three${asOf === null ? '' : `&as_of=${asOf}`}`;
    for (const list of ['memories?', 'search?q=office&', 'recall?q=office&min_score=0&']) {
      const at = async (asOf: string | null) => titles(await send(200, 'GET', path(list, asOf)));
      assert.deepEqual(await at('2021-12-31T23:59:59.999Z'), ['office one: ended'], list);
      assert.deepEqual(await at('2022-01-01'), ['office two'], list);
      assert.deepEqual((await at('2095-01-01')).sort(), ['office three: not_begun', 'office two'], list);
      const now = await at(null);
      assert.equal(now.length, 3);
      if (!list.startsWith('memories')) assert.equal(now[0], 'office two', list);
      assert.equal((await send(400, 'GET', path(list, 'then')))['code'], 'VALIDATION_FAILED');
    }
  });
});

describe('a memory that supersedes another', () => {
  const place = { namespace: 'facts/four' };

  it('ends it when it begins, unless it had ended, or belongs to somebody else', async () => {
    const link = async (source: string, target: string) =>
      (await send(201, 'POST', '/links', { source_id: source, target_id: target, relation: 'supersedes' }))[
        'target_valid_until'
      ];
    const next = await store({ title: 'next', ...place, valid_from: '2024-05-01' });
    const open = await store({ title: 'open', ...place });
    assert.equal(await link(next, open), '2024-05-01T00:00:00.000Z');
    assert.deepEqual(
      [(await read(open))['valid_until'], (await read(open))['version']],
      ['2024-05-01T00:00:00.000Z', 2],
    );
    const ended = await store({ title: 'ended', ...place, valid_until: '2023-01-01' });
    assert.equal(await link(next, ended), undefined);
    assert.equal((await read(ended))['version'], 1);
    const others = await store({ title: 'others', ...place }, 'ai:bob');
    assert.equal(await link(next, others), undefined);
    assert.equal((await read(others))['valid_until'], undefined);
  });

  it('waits where a policy wants its writes approved', async () => {
    const guarded = { namespace: 'facts/guarded' };
    const target = await store({ title: 'guarded', ...guarded }, 'ai:carol');
    const source = await store({ title: 'source', ...place }, 'ai:carol');
    const standard = await store({ title: 'rules', ...guarded }, 'ai:admin');
    const governance = { write: 'approve', promote: 'any', delete: 'owner', read: 'any', approver: 'human' };
    const path = '/namespaces/facts%2Fguarded/standard';
    await send(201, 'POST', path, { id: standard, governance }, 'ai:admin');
    const body = { source_id: source, target_id: target, relation: 'supersedes' };
    const waits = await send(202, 'POST', '/links', body, 'ai:carol');
    assert.equal(waits['status'], 'pending');
    assert.equal((await read(target))['valid_until'], undefined);
  });

  it('stays with resolve and keep, and is ended then', async () => {
    const [winner, loser] = [
      await store({ title: 'right', ...place }),
      await store({ title: 'wrong', ...place }),
    ];
    await send(200, 'POST', '/contradictions/resolve', { winner, loser, keep: true });
    assert.equal((await read(loser))['validity'], 'ended');
    // What has ended contradicts nothing.
    const listed = async () => {
      const { links } = await send(200, 'GET', '/contradictions?namespace=facts/topic');
      return (links as Json[]).length;
    };
    const about = { namespace: 'facts/topic', metadata: { topic: 'office' } };
    const past = await store({ title: 'then', content: 'in Rome', ...about });
    const present = await store({ title: 'now', content: 'in Bern', ...about });
    assert.equal(await listed(), 1);
    await send(200, 'POST', '/contradictions/resolve', { winner: present, loser: past, keep: true });
    assert.equal(await listed(), 0);
  });
});

describe('an instant', () => {
  it('counts in any zone and spelling of RFC 3339, and what is none is refused', async () => {
    const place = { namespace: 'facts/zones' };
    await store({ title: 'turn', ...place, valid_from: '2024-06-01', valid_until: '2024-07-01' });
    const at = async (instant: string) =>
      (await send(200, 'GET', `/memories?namespace=facts/zones&as_of=${encodeURIComponent(instant)}`))[
        'count'
      ];
    for (const [instant, count] of [
      ['2024-06-01T00:00:00Z', 1],
      ['2024-06-01t01:59:59.999999999+02:00', 0],
      ['2024-05-31T23:59:60z', 0],
      ['2024-05-31T14:00:00-10:00', 1],
      ['2024-06-30T23:59:59.9999Z', 1],
      ['2024-07-01', 0],
      ['0001-01-01T00:00:00Z', 0],
      ['9999-12-31T23:59:59Z', 0],
    ] as const)
      assert.equal(await at(instant), count, instant);
    for (const instant of [
      '2024-02-30',
      '2024-06-01T00:00:00',
      '2024',
      'now',
      '10000-01-01',
      '',
      '1717200000',
    ])
      await send(400, 'GET', `/memories?as_of=${encodeURIComponent(instant)}`);
  });
});

describe('the history of a memory', () => {
  it('lists its versions, compares two and brings one back by its number', async () => {
    const id = await store({ title: 'Deploy window', namespace: 'facts/five', tags: ['a'] });
    await send(200, 'PUT', `/memories/${id}`, { content: 'on Mondays', metadata: { topic: 'deploy' } });
    await send(200, 'PUT', `/memories/${id}`, { valid_until: '2099-01-01' });
    const all = await send(200, 'GET', `/memories/${id}/history`);
    const rows = all['versions'] as Json[];
    assert.deepEqual(
      rows.map(({ version, change, agent_id }) => [version, change, agent_id]),
      [3, 2, 1].map((version) => [version, version === 1 ? 'store' : 'update', 'ai:alice']),
    );
    const compare = async (query: string) =>
      (await send(200, 'GET', `/memories/${id}/history?${query}`))['changes'];
    assert.deepEqual(await compare('from=1&to=2'), [
      { field: 'content', before: 'where the office is', after: 'on Mondays' },
      { field: 'metadata.topic', before: null, after: 'deploy' },
    ]);
    assert.deepEqual(await compare('to=3'), [
      { field: 'valid_until', before: null, after: '2099-01-01T00:00:00.000Z' },
    ]);
    assert.deepEqual(
      await compare(`from=${encodeURIComponent(String(rows[1]!['op_id']))}`),
      await compare('to=3'),
    );
    assert.equal((await send(404, 'GET', `/memories/${id}/history?from=9`))['code'], 'NOT_FOUND');
    const undone = await send(200, 'POST', `/memories/${id}/undo`, { to: 1 });
    assert.deepEqual(undone['changed'], ['content', 'valid_until', 'metadata']);
    assert.equal((await send(409, 'POST', `/memories/${id}/undo`, { to: 9 }))['code'], 'CONFLICT');
    assert.equal((await send(403, 'POST', `/memories/${id}/undo`, { to: 1 }, 'ai:bob'))['code'], 'FORBIDDEN');
  });

  it('shows nobody what was private then, neither in it nor in a list of then', async () => {
    const place = { namespace: 'facts/six' };
    const id = await store({ title: 'secret', content: 'only mine', scope: 'private', ...place });
    const then = await instantBetween();
    await send(200, 'PUT', `/memories/${id}`, { content: 'for all', scope: 'collective' });
    const list = async (by: string) =>
      (
        (await send(200, 'GET', `/memories?namespace=facts/six&known_at=${then}`, undefined, by))[
          'memories'
        ] as Json[]
      ).map(({ content }) => content);
    assert.deepEqual([await list('ai:alice'), await list('ai:bob')], [['only mine'], []]);
    const versions = (await send(200, 'GET', `/memories/${id}/history`, undefined, 'ai:bob'))[
      'versions'
    ] as Json[];
    assert.deepEqual(
      versions.map(({ title, memory }) => [title, memory !== null]),
      [
        ['secret', true],
        [null, false],
      ],
    );
    await send(404, 'GET', `/memories/${id}/history?from=1`, undefined, 'ai:bob');
    await send(200, 'PUT', `/memories/${id}`, { scope: 'private' });
    await send(404, 'GET', `/memories/${id}/history`, undefined, 'ai:bob');
    const now = await instantBetween();
    assert.deepEqual(
      titles(await send(200, 'GET', `/memories?namespace=facts/six&known_at=${now}`, undefined, 'ai:bob')),
      [],
    );
  });

  it('of an erased memory is gone, and so is what was known of it then', async () => {
    const place = { namespace: 'facts/erased' };
    const id = await store({ title: 'erased', ...place });
    const then = await instantBetween();
    await send(200, 'PUT', `/memories/${id}`, { content: 'later' });
    await send(200, 'DELETE', `/memories/${id}?erase=true`);
    await send(404, 'GET', `/memories/${id}/history`);
    await send(404, 'POST', `/memories/${id}/undo`, { to: 1 });
    const listed = await send(200, 'GET', `/memories?namespace=facts/erased&known_at=${then}`);
    assert.deepEqual([listed['count'], listed['not_kept']], [0, undefined]);
  });

  it('says how many memories are not kept as they were then', async () => {
    const place = { namespace: 'facts/seven' };
    const id = await store({ title: 'old', ...place });
    const then = await instantBetween();
    await send(200, 'PUT', `/memories/${id}`, { content: 'new' });
    const history = await send(200, 'GET', `/memories/${id}/history`);
    const [, seq] = /\/(\d+)$/.exec(String((history['versions'] as Json[])[1]!['op_id']))!;
    const origin = String((history['versions'] as Json[])[1]!['op_id']).replace(/\/\d+$/, '');
    await node.services.store.execute({ kind: 'drop-payloads', places: [{ origin, seq: Number(seq) }] });
    const listed = await send(200, 'GET', `/memories?namespace=facts/seven&known_at=${then}`);
    assert.deepEqual([listed['count'], listed['not_kept']], [0, 1]);
    for (const query of ['cursor=x', 'include_expired=true'])
      await send(400, 'GET', `/memories?known_at=${then}&${query}`);
  });
});
