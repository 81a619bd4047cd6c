import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { SemanticAbsence } from '../../../node/semantics/semantic-index.js';
import { EMBED_STATES } from '../../../protocol/memory/embed-state.js';
import type { VectorEvidence } from '../../../protocol/ranking/types.js';
import { FakeIndex } from '../../node/semantics/fake-index.js';
import { type HttpNode, openHttpNode } from './http-node.js';

const ALICE = { 'x-agent-id': 'ai:alice' };
const BOB = { 'x-agent-id': 'ai:bob' };
const PATH = '/api/v1/memories';
const DIM = 2;

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
    const gone = { expires_at: '2020-01-01T00:00:00Z' };
    assert.equal((await node.send('PUT', `${PATH}/${brief.body['id']}`, gone, ALICE)).status, 200);
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
    assert.deepEqual(Object.keys(result!).sort(), ['id', 'index']);
  });
});

describe('the near-duplicate guard', () => {
  let node: HttpNode;
  let answer: VectorEvidence | SemanticAbsence = 'empty';
  const semantic = new FakeIndex('fake', () => Promise.resolve(answer));
  before(async () => {
    node = await openHttpNode({}, { wrap: (services) => ({ ...services, semantic }) });
  });
  after(() => node.close());
  beforeEach(() => {
    answer = 'empty';
    semantic.asked.length = 0;
  });
  const store = (body: object, headers = ALICE) => storing(node)(body, headers);

  /** Stores a memory with a vector of its own; its row number. */
  const embedded = async (body: object, { headers = ALICE, windows = 1 } = {}) => {
    const stored = await store({ ...body, force: true }, headers);
    assert.equal(stored.status, 201, JSON.stringify(stored.body));
    const id = String(stored.body['id']);
    const { store: inside } = node.services;
    const pending = await inside.query({ kind: 'pending-embeddings', afterRid: 0, limit: 1000 });
    assert.ok(pending.ok);
    const row = pending.value.rows.find((one) => one.id === id)!;
    const vectors = new Uint8Array(Float32Array.from({ length: DIM * windows }, () => 0.5).buffer);
    const embedding = { ...row, state: EMBED_STATES.embedded, model: 'fake', dim: DIM, vectors };
    assert.ok((await inside.execute({ kind: 'put-embeddings', rows: [embedding] })).ok);
    return { id, rid: row.rid };
  };
  const near = (...hits: (readonly [rid: number, cosine: number])[]): VectorEvidence => ({
    queryVector: Float32Array.of(1, 0),
    hits: hits.map(([rid, cosine]) => ({ rid, cosine })),
    mean: 0,
    deviation: 1,
    scanned: hits.length,
  });

  it('refuses another text that says nearly the same, and changes nothing', async () => {
    const { id, rid } = await embedded({ title: 'Deploy window', content: 'Sundays', namespace: 'a' });
    answer = near([rid, 0.98123]);
    const before = await node.counts();
    const again = { title: 'Window', content: 'Mondays', namespace: 'a' };
    const refused = await store(again);
    assert.equal(refused.status, 409);
    const { hint, error, ...rest } = refused.body;
    assert.deepEqual(rest, {
      code: 'CONFLICT',
      existing_id: id,
      existing_title: 'Deploy window',
      similarity: 0.981,
      reason: 'near_duplicate_with_differing_content',
    });
    assert.deepEqual([typeof hint, typeof error], ['string', 'string']);
    assert.deepEqual(await node.counts(), before);
    const [asked] = semantic.asked.slice(-1);
    assert.deepEqual([asked?.query, asked?.namespace, asked?.beforeStore], ['Window Mondays', 'a', true]);
    assert.equal((await store({ ...again, force: true })).status, 201);
  });

  it('asks nothing when it is forced, and for bulk', async () => {
    await store({ title: 'forced', namespace: 'b', force: true });
    await node.send('POST', `${PATH}/bulk`, [{ title: 'in bulk', content: 'x', namespace: 'b' }], ALICE);
    assert.equal(semantic.asked.length, 0);
  });

  it('lets pass what is less near, what says the same, and what stands elsewhere', async () => {
    const { rid } = await embedded({ title: 'one', content: 'text', namespace: 'c' });
    answer = near([rid, 0.9499]);
    assert.equal((await store({ title: 'two', content: 'other', namespace: 'c' })).status, 201);
    answer = near([rid, 0.99]);
    assert.equal((await store({ title: 'three', content: ' text\n', namespace: 'c' })).status, 201);
    assert.equal((await store({ title: 'four', content: 'other', namespace: 'c/d' })).status, 201);
    const long = await embedded({ title: 'long', content: 'many', namespace: 'c' }, { windows: 2 });
    answer = near([long.rid, 0.99]);
    assert.equal((await store({ title: 'five', content: 'other', namespace: 'c' })).status, 201);
  });

  it('looks past a row that says the same to the next', async () => {
    const same = await embedded({ title: 'one', content: 'text', namespace: 'd' });
    const other = await embedded({ title: 'two', content: 'texts', namespace: 'd' });
    answer = near([same.rid, 0.999], [other.rid, 0.96]);
    const refused = await store({ title: 'three', content: 'text', namespace: 'd' });
    assert.deepEqual([refused.body['existing_id'], refused.body['similarity']], [other.id, 0.96]);
  });

  it('knows nothing of rows that the caller may not see', async () => {
    const secret = { title: 'merger', content: 'in May', namespace: 'e', scope: 'private' };
    const { id, rid } = await embedded(secret);
    answer = near([rid, 0.99]);
    assert.equal((await store({ title: 'the merger', content: 'in June', namespace: 'e' }, BOB)).status, 201);
    const own = await store({ title: 'my merger', content: 'in June', namespace: 'e' });
    assert.deepEqual([own.status, own.body['existing_id']], [409, id]);
  });

  it('leaves a taken title to the rule of titles', async () => {
    const { id, rid } = await embedded({ title: 'rule', content: 'old', namespace: 'f' });
    const other = await embedded({ title: 'the rules', content: 'elder', namespace: 'f' });
    answer = near([rid, 0.99], [other.rid, 0.98]);
    const taken = await store({ title: 'rule', content: 'new', namespace: 'f' });
    assert.deepEqual([taken.status, taken.body['existing_id'], taken.body['reason']], [409, id, undefined]);
    const merged = await store({ title: 'rule', content: 'new', namespace: 'f', on_conflict: 'merge' });
    assert.deepEqual([merged.status, merged.body['id']], [200, id]);
    answer = near([rid, 0.99]);
    for (const n of [2, 3]) {
      const versioned = { title: 'rule', content: `text ${n}`, namespace: 'f', on_conflict: 'version' };
      assert.equal((await store(versioned)).body['title'], `rule (${n})`);
    }
    answer = near([other.rid, 0.98]);
    const repeated = { title: 'rule', content: 'eldest', namespace: 'f', on_conflict: 'version' };
    assert.equal((await store(repeated)).body['existing_id'], other.id);
  });

  it('never keeps a store from being made for want of the embedder', async () => {
    for (const absence of ['disabled', 'busy', 'failing', 'unreachable', 'empty'] as const) {
      answer = absence;
      assert.equal((await store({ title: `while ${absence}`, namespace: 'g' })).status, 201);
    }
    answer = near([123_456_789, 1]);
    assert.equal((await store({ title: 'a row that is gone', namespace: 'g' })).status, 201);
  });

  it('does not judge by a vector of a text that was changed since', async () => {
    const { id, rid } = await embedded({ title: 'changed', content: 'before', namespace: 'h' });
    await node.send('PUT', `${PATH}/${id}`, { content: 'after' }, ALICE);
    answer = near([rid, 0.99]);
    assert.equal((await store({ title: 'another', content: 'now', namespace: 'h' })).status, 201);
  });
});
