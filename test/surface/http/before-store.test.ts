import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type HttpNode, openHttpNode } from './http-node.js';

const ALICE = { 'x-agent-id': 'ai:alice' };
const BOB = { 'x-agent-id': 'ai:bob' };
const PATH = '/api/v1/memories';

const storing =
  (node: HttpNode) =>
  async (body: object, headers: Record<string, string> = ALICE) => {
    const { status, json } = await node.send('POST', PATH, { content: 'x', ...body }, headers);
    return { status, body: json! };
  };

describe('potential_contradictions', () => {
  let node: HttpNode;
  before(async () => {
    node = await openHttpNode();
  });
  after(() => node.close());
  const store = (body: object, headers = ALICE) => storing(node)(body, headers);
  const named = async (body: object, headers = ALICE) => {
    const stored = await store(body, headers);
    assert.equal(stored.status, 201, JSON.stringify(stored.body));
    return stored.body['potential_contradictions'];
  };

  it('are the memories of the namespace with similar titles, and absent without any', async () => {
    const first = await store({ title: 'The deploy window', namespace: 'a' });
    assert.equal('potential_contradictions' in first.body, false);
    await store({ title: 'The deploy window', namespace: 'a/b' });
    await store({ title: 'The lunch menu', namespace: 'a' });
    const second = await named({ title: 'Windows of deploys', namespace: 'a' });
    assert.deepEqual(second, [first.body['id']]);
    assert.equal(
      await named({ title: 'deploy windows', namespace: 'a', detect_conflicts: false }),
      undefined,
    );
  });

  it('find an old title with the same words behind many with one of them', async () => {
    const old = await store({ title: 'harbour crane schedule', namespace: 'b' });
    for (let n = 0; n < 30; n += 1)
      await store({ title: `harbour note number ${n} of many`, namespace: 'b' });
    const found = (await named({ title: 'schedule of the harbour crane', namespace: 'b' })) as string[];
    assert.equal(found[0], old.body['id']);
  });

  it('are five at most', async () => {
    for (let n = 0; n < 8; n += 1) await store({ title: `plan ${n}`, namespace: 'c' });
    assert.equal(((await named({ title: 'plan', namespace: 'c' })) as string[]).length, 5);
  });

  it('name nothing that the caller may not see, and hidden rows crowd nothing out', async () => {
    const open = await store({ title: 'merger talks', namespace: 'd' }, BOB);
    for (let n = 0; n < 40; n += 1) {
      await store({ title: `merger talks ${n}`, namespace: 'd', scope: 'private' }, ALICE);
    }
    assert.deepEqual(await named({ title: 'talks about the merger', namespace: 'd' }, BOB), [
      open.body['id'],
    ]);
    const own = (await named({ title: 'merger talks again', namespace: 'd' }, ALICE)) as string[];
    assert.equal(own.length, 5);
  });

  it('hold nothing that has expired', async () => {
    const brief = await store({ title: 'tide table', namespace: 'e' });
    const gone = { expires_at: new Date(Date.now() + 300).toISOString() };
    assert.equal((await node.send('PUT', `${PATH}/${brief.body['id']}`, gone, ALICE)).status, 200);
    await pause(400);
    assert.equal(await named({ title: 'table of tides', namespace: 'e' }), undefined);
  });

  it('take titles as text, whatever stands in them', async () => {
    for (const title of ['"a" OR (b', 'NEAR(x y)*', 'title : x', "n1 ' -- ;", '^', '東京 港', '{nst} : n1']) {
      assert.equal((await store({ title, namespace: 'f' })).status, 201, title);
      assert.equal((await store({ title: `${title} twice`, namespace: 'f' })).status, 201, title);
    }
    assert.equal((await store({ title: 'word '.repeat(102), namespace: 'f' })).status, 201);
  });

  it('are left out of merges and of bulk results', async () => {
    await store({ title: 'pilot roster', namespace: 'g' });
    await store({ title: 'roster', namespace: 'g' });
    const merged = await store({ title: 'roster', namespace: 'g', on_conflict: 'merge' });
    assert.deepEqual([merged.status, 'potential_contradictions' in merged.body], [200, false]);
    const rows = [{ title: 'roster of pilots', content: 'x', namespace: 'g' }];
    const bulk = await node.send('POST', `${PATH}/bulk`, rows, ALICE);
    const [result] = bulk.json!['results'] as Record<string, unknown>[];
    assert.deepEqual(Object.keys(result!).sort(), ['expires_at', 'id', 'index']);
  });
});

type Near = readonly { readonly id: string; readonly title: string; readonly similarity: number }[];

describe('near_duplicates', () => {
  let node: HttpNode;
  before(async () => {
    node = await openHttpNode();
  });
  after(() => node.close());
  const store = async (body: object, headers = ALICE) => {
    const stored = await storing(node)(body, headers);
    assert.equal(stored.status, 201, JSON.stringify(stored.body));
    return { id: String(stored.body['id']), near: stored.body['near_duplicates'] as Near | undefined };
  };
  const deploys = (day: string) => `We deploy on ${day} between two and four in the night.`;

  it('names what says nearly the same, by id, title and similarity, and both are stored', async () => {
    const first = await store({ title: 'Deploy window', content: deploys('Sundays'), namespace: 'a' });
    assert.equal(first.near, undefined);
    const second = await store({ title: 'Deploy windows', content: deploys('Mondays'), namespace: 'a' });
    assert.deepEqual(
      second.near!.map(({ id, title }) => [id, title]),
      [[first.id, 'Deploy window']],
    );
    const { similarity } = second.near![0]!;
    assert.ok(similarity >= 0.8 && similarity < 1, String(similarity));
    const same = await store({ title: 'Deploy window.', content: deploys('Sundays'), namespace: 'a' });
    assert.deepEqual([same.near![0]!.id, same.near![0]!.similarity], [first.id, 1]);
  });

  it('leaves out what says something else, and what stands elsewhere', async () => {
    await store({ title: 'Bees', content: 'Honey is made of nectar.', namespace: 'b' });
    const other = await store({ title: 'Deploy window', content: deploys('Sundays'), namespace: 'b' });
    const below = await store({ title: 'Bees', content: 'Honey is made of nectar.', namespace: 'b/c' });
    assert.deepEqual([other.near, below.near], [undefined, undefined]);
  });

  it('finds a duplicate behind many other rows, also in a script without spaces', async () => {
    const first = await store({
      title: 'Crane',
      content: 'The crane needs grease each spring.',
      namespace: 'c',
    });
    const gate = await store({
      title: '会議の予定',
      content: '会議は月曜日の午前十時に始まります。',
      namespace: 'c2',
    });
    for (let n = 0; n < 40; n += 1) {
      await store({
        title: `note ${n}`,
        content: `Something about ${n} ships in the harbour`,
        namespace: 'c',
      });
    }
    const second = await store({
      title: 'Cranes',
      content: 'The crane needs grease each autumn.',
      namespace: 'c',
    });
    assert.equal(second.near?.[0]?.id, undefined, 'three of seven words differ');
    const third = await store({
      title: 'The crane',
      content: 'The crane needs grease each spring',
      namespace: 'c',
    });
    assert.equal(third.near?.[0]?.id, first.id);
    const later = await store({
      title: '会議の予定二',
      content: '会議は火曜日の午前十時に始まります。',
      namespace: 'c2',
    });
    assert.equal(later.near?.[0]?.id, gate.id);
  });

  it('names nothing that the caller may not see', async () => {
    const secret = {
      title: 'merger',
      content: 'talks with the bank in May',
      namespace: 'd',
      scope: 'private',
    };
    const { id } = await store(secret);
    const again = { title: 'the merger', content: 'talks with the bank in June', namespace: 'd' };
    assert.equal((await store(again, BOB)).near, undefined);
    const own = await store({ ...again, title: 'my merger', content: 'talks with the bank in May' });
    assert.equal(own.near?.[0]?.id, id);
  });

  it('are left out of bulk results, and on request', async () => {
    const text = { content: deploys('Fridays'), namespace: 'e' };
    await store({ title: 'Friday window', ...text });
    const bulk = await node.send('POST', `${PATH}/bulk`, [{ title: 'Fridays window', ...text }], ALICE);
    const [result] = bulk.json!['results'] as Record<string, unknown>[];
    assert.equal('near_duplicates' in result!, false);
    assert.equal((await store({ title: 'Window', ...text, detect_conflicts: false })).near, undefined);
    const merged = { title: 'Friday window', ...text, on_conflict: 'merge' };
    const { body } = await storing(node)(merged);
    const named = (body['near_duplicates'] as Near).map(({ id }) => id);
    assert.ok(named.length > 0 && !named.includes(String(body['id'])), 'a merge does not name its own row');
  });

  it('are not looked for where the operator wants none', async () => {
    const off = await openHttpNode({ nearDuplicate: 'off' });
    try {
      for (const title of ['one window', 'one windows']) {
        const { body } = await storing(off)({ title, content: deploys('Sundays') });
        assert.equal(body['near_duplicates'], undefined);
      }
    } finally {
      await off.close();
    }
  });
});

describe('a near duplicate where the operator has them refused', () => {
  let node: HttpNode;
  before(async () => {
    node = await openHttpNode({ nearDuplicate: 'refuse' });
  });
  after(() => node.close());
  const store = (body: object) => storing(node)(body);
  const text = 'Ann Lee does not restart db-17 before 04:00 on 2026-03-01.';

  it('is refused only when it says the same, changes nothing, and is stored with force', async () => {
    const first = await store({ title: 'Restart of db-17', content: text });
    assert.equal(first.status, 201);
    const before = await node.counts();
    const again = { title: 'restart of db-17.', content: `  ${text}\n` };
    const refused = await store(again);
    const { error, hint, ...rest } = refused.body;
    assert.deepEqual(
      [refused.status, rest],
      [
        409,
        {
          code: 'CONFLICT',
          existing_id: first.body['id'],
          existing_title: 'Restart of db-17',
          similarity: 1,
          reason: 'near_duplicate',
        },
      ],
    );
    assert.equal(typeof error, 'string');
    assert.doesNotMatch(String(hint), /update|merge|replace/, 'no advice to write over the other memory');
    assert.deepEqual(await node.counts(), before);
    assert.equal((await store({ ...again, force: true })).status, 201);
  });

  it('is stored when a title, number, date, name, negation or identifier differs', async () => {
    const changes: readonly (readonly [from: string, to: string])[] = [
      ['17', '18'],
      ['04:00', '05:00'],
      ['2026-03-01', '2026-03-02'],
      ['Ann', 'Ben'],
      ['Lee', 'Li'],
      ['does not restart', 'does restart'],
      ['db-17', 'db_17'],
      ['db-17', 'DB-17'],
      ['before', 'after'],
    ];
    for (const [index, [from, to]] of changes.entries()) {
      const stored = await store({
        title: `Restart of db-17 ${'.'.repeat(index + 2)}`,
        content: text.replace(from, to),
      });
      assert.equal(stored.status, 201, `${from} to ${to}: ${JSON.stringify(stored.body)}`);
    }
    assert.equal((await store({ title: 'Reboot of db-17', content: text })).status, 201);
  });
});
