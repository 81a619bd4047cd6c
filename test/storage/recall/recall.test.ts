import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecallIndex, recall } from '../../../storage/sql/recall/recall.js';
import { request, type TestRow, TestStore, vectors } from './store.js';

let fillers = 0;

const filler = (count: number, make: (index: number) => Partial<TestRow> = () => ({})): TestRow[] =>
  Array.from({ length: count }, (_none, index) => ({
    title: `filler ${fillers++}`,
    content: `nothing to see in number ${index}`,
    ...make(index),
  }));

const rids = (store: TestStore, query: string, changes = {}): number[] =>
  recall(store.database, request(query, changes)).rows.map((row) => row.rid);

test('finds the row that says it best, inflected or not, and says that it ran on words alone', () => {
  const store = new TestStore();
  store.add(...filler(20));
  const [, best] = store.add(
    { title: 'deploy', content: 'deploys are on Monday' },
    { title: 'database migration', content: 'The migration of the database was deployed at night' },
  );
  const found = recall(store.database, request('when were database migrations deployed?'));
  assert.equal(found.rows[0]?.rid, best);
  assert.equal(found.mode, 'keyword');
  assert.equal(found.rows.length, 2);
  assert.deepEqual(found.candidates, { fts: 2, vector: 0 });
});

test('what looks like full-text syntax is text', () => {
  const store = new TestStore();
  const [rid] = store.add({ title: 'alpha', content: 'alpha beta gamma' }, ...filler(5));
  const queries = [
    '"alpha',
    'alpha OR',
    'alpha NOT beta',
    'NEAR(alpha beta)',
    'content: alpha',
    'nst:alpha',
    'alpha*',
    '^alpha',
    '{title} : (alpha',
    "alpha'); DROP TABLE memories; --",
    'alpha"" AND ""',
    '-alpha +beta',
  ];
  for (const query of queries) {
    assert.deepEqual(rids(store, query), [rid], query);
    assert.deepEqual(rids(store, query, { namespace: 'global' }), [rid], query);
  }
});

test('the namespace term is not a word that can be asked for, and a word like it is', () => {
  const store = new TestStore();
  store.add(...filler(5));
  assert.deepEqual(rids(store, 'n1'), []);
  const [rid] = store.add({ title: 'sensor n1', content: 'calibrated' });
  assert.deepEqual(rids(store, 'n1'), [rid]);
});

test('a text that says the term of another namespace stays in its own', () => {
  const store = new TestStore();
  store.add({ namespace: 'one', title: 'anchor', content: 'harbour' });
  store.add({ namespace: 'two', title: 'n1 n2 n3', content: 'harbour' });
  assert.deepEqual(rids(store, 'harbour', { namespace: 'one' }), [1]);
});

test('a query of stop-words alone is looked up as it is; an empty one finds nothing', () => {
  const store = new TestStore();
  const [rid] = store.add({ title: 'band', content: 'The Who played' }, { title: 'other', content: 'music' });
  assert.deepEqual(rids(store, 'the who'), [rid]);
  assert.deepEqual(rids(store, ''), []);
  assert.deepEqual(rids(store, '?!'), []);
});

test('a namespace is searched with its ancestors and not with its descendants', () => {
  const store = new TestStore();
  const names = ['a', 'a/b', 'a/b/c', 'a/bc', 'ab', 'global'];
  store.add(...names.map((namespace) => ({ namespace, title: `in ${namespace}`, content: 'needle' })));
  const found = (namespace: string | null) => rids(store, 'needle', { namespace }).sort();
  assert.deepEqual(found('a/b'), [1, 2]);
  assert.deepEqual(found('a'), [1]);
  assert.deepEqual(found('a/b/c/d'), [1, 2, 3]);
  assert.deepEqual(found('unheard/of'), []);
  assert.deepEqual(found(null), [1, 2, 3, 4, 5, 6]);
});

test('filters hold: tags exactly and any of them, since, until, kinds', () => {
  const store = new TestStore();
  store.add(
    { title: '1', content: 'needle', tags: ['red', 'big-one'], createdAt: '2026-01-01T00:00:00.000Z' },
    { title: '2', content: 'needle', tags: ['redder'], createdAt: '2026-02-01T00:00:00.000Z' },
    {
      title: '3',
      content: 'needle',
      tags: ['a"b', '++'],
      createdAt: '2026-03-01T00:00:00.000Z',
      kind: 'decision',
    },
  );
  const found = (changes: object) => rids(store, 'needle', changes).sort();
  assert.deepEqual(found({ tags: ['red'] }), [1]);
  assert.deepEqual(found({ tags: ['red', 'redder'] }), [1, 2]);
  assert.deepEqual(found({ tags: ['big'] }), []);
  assert.deepEqual(found({ tags: ['big-one'] }), [1]);
  assert.deepEqual(found({ tags: ['a"b'] }), [3]);
  assert.deepEqual(found({ tags: ['++'] }), [3]);
  assert.deepEqual(found({ since: '2026-02-01T00:00:00.000Z' }), [2, 3]);
  assert.deepEqual(found({ until: '2026-02-01T00:00:00.000Z' }), [1, 2]);
  assert.deepEqual(found({ kinds: ['decision'] }), [3]);
  assert.deepEqual(found({ kinds: [] }), []);
});

test('a filter that leaves one old row among thousands of better ones still finds it', () => {
  for (const count of [700, 3_000]) {
    const store = new TestStore();
    const old = { createdAt: '2020-01-01T00:00:00.000Z' };
    const [rid] = store.add({
      title: 'first',
      content: 'some common words and needle somewhere in it',
      ...old,
    });
    store.add(...filler(count, () => ({ content: 'common needle needle' })));
    assert.deepEqual(rids(store, 'needle', { until: '2021-01-01T00:00:00.000Z', namespace: 'global' }), [
      rid,
    ]);
    assert.deepEqual(rids(store, 'common needle', { until: '2021-01-01T00:00:00.000Z' }), [rid]);
  }
});

test('a row behind thousands of rows of others is found', () => {
  const store = new TestStore();
  const [rid] = store.add({ title: 'mine', content: 'needle' });
  const hidden = { metadata: { scope: 'private', agent_id: 'other' } };
  store.add(...filler(3_000, () => ({ content: 'needle', ...hidden })));
  const viewer = { all: false, agentId: 'me', asNamespace: null };
  assert.deepEqual(rids(store, 'needle', { viewer, namespace: 'global' }), [rid]);
});

test('words that stand in every row give the newest rows, and one rare word beside them decides', () => {
  const store = new TestStore();
  store.add(...filler(3_000, (index) => ({ content: `common words ${index === 7 ? 'zebra' : 'horse'}` })));
  assert.deepEqual(rids(store, 'common words', { namespace: 'global', limit: 3 }), [3000, 2999, 2998]);
  assert.deepEqual(rids(store, 'common zebra words', { namespace: 'global', limit: 1 }), [8]);
});

test('a word counted as common is counted again when the store has grown', () => {
  const store = new TestStore();
  store.add(...filler(2_000, () => ({ content: 'needle' })));
  assert.equal(rids(store, 'needle').length, 10);
  const [rid] = store.add(...filler(9_000), { title: 'thimble', content: 'needle thimble' }).slice(-1);
  assert.equal(rids(store, 'needle thimble')[0], rid);
});

test('with vectors the mode is hybrid and a row without a common word is found', () => {
  const store = new TestStore();
  store.add(...filler(8, () => ({ vector: [0, 1] })));
  const [near] = store.add({ title: 'automobile', content: 'vehicle', vector: [1, 0] });
  const found = recall(store.database, request('car', { vectors: vectors([near ?? 0, 1]) }));
  assert.equal(found.mode, 'hybrid');
  assert.equal(found.rows[0]?.rid, near);
  assert.equal(found.candidates.vector, 1);
});

test('cosines of rows that the vector index did not report are read beside the rows, the best chunk counting', () => {
  const store = new TestStore();
  const far = store.add(...filler(4, () => ({ content: 'needle in hay', vector: [0, 1, -1, 0] })));
  const [near] = store.add({ title: 'filler 9', content: 'needle in hay', vector: [0, 1, 1, 0] });
  store.add(...filler(4, () => ({ content: 'needle in hay', vector: [0, 1, -1, 0] })));
  assert.equal(rids(store, 'needle', { vectors: vectors() })[0], near);
  assert.equal(far.length, 4);
});

test('a hit of the vector index outside of scope, gate or filter does not appear', () => {
  const store = new TestStore();
  const [other, hidden, expired, late] = store.add(
    { namespace: 'other', title: '1', content: 'x' },
    { namespace: 'mine', title: '2', content: 'x', metadata: { scope: 'private', agent_id: 'other' } },
    { namespace: 'mine', title: '3', content: 'x', expiresAt: '2026-11-21T12:00:00.000Z' },
    { namespace: 'mine', title: '4', content: 'x', createdAt: '2026-11-21T00:00:00.000Z' },
  ) as [number, number, number, number];
  const found = rids(store, 'anything', {
    namespace: 'mine',
    viewer: { all: false, agentId: 'me', asNamespace: null },
    until: '2026-11-20T00:00:00.000Z',
    vectors: vectors([other, 0.9], [hidden, 0.9], [expired, 0.9], [late, 0.9], [999, 0.9]),
  });
  assert.deepEqual(found, []);
});

test('a full match in a title leads over rows with every boost', () => {
  const store = new TestStore();
  store.add(...filler(30));
  const [exact] = store.add({
    title: 'rotate the signing key',
    content: 'see runbook',
    tier: 'short',
    priority: 1,
    createdAt: '2020-01-01T00:00:00.000Z',
  });
  store.add(...filler(10));
  store.add({
    title: 'key',
    content: 'a key for a door',
    tier: 'long',
    priority: 10,
    createdAt: '2026-11-21T11:00:00.000Z',
  });
  assert.equal(rids(store, 'rotate signing key')[0], exact);
});

test('scores are descending, finite and above 0, and the limit holds', () => {
  const store = new TestStore();
  store.add(...filler(60, (index) => ({ content: `needle ${'hay '.repeat(index)}` })));
  for (const limit of [0, 1, 7, 50]) {
    const { rows } = recall(store.database, request('needle hay', { limit }));
    assert.equal(rows.length, limit);
    rows.forEach((row, index) => {
      assert.ok(Number.isFinite(row.score) && row.score > 0 && row.score <= (rows[index - 1]?.score ?? 1));
    });
  }
});

const filter = (changes: object = {}) => ({
  namespace: null,
  tier: null,
  minPriority: null,
  since: null,
  until: null,
  tags: [],
  agentId: null,
  viewer: { all: true, agentId: null, asNamespace: null },
  now: '2026-11-21T12:00:00.000Z',
  limit: 20,
  offset: 0,
  ...changes,
});

test('search requires every word, ranks by relevance, filters and pages', () => {
  const store = new TestStore();
  store.add(
    { title: 'blue whale', content: 'the whale is blue', priority: 9, sourceUri: 'file:///a' },
    { title: 'sea', content: `a blue thing ${'water '.repeat(60)} and a whale`, namespace: 'n/x' },
    { title: 'blue', content: 'sky', sourceUri: 'file:///a' },
    { title: 'secret', content: 'blue whale', metadata: { scope: 'private', agent_id: 'other' } },
  );
  const index = new RecallIndex(store.database);
  const search = (query: string, changes: object = {}, sourceUri: string | null = null) =>
    index.search({ kind: 'search-memories', query, sourceUri, filter: filter(changes) });
  assert.deepEqual(
    search('the blue WHALES', { viewer: { all: false, agentId: 'me', asNamespace: null } }),
    [1, 2],
  );
  assert.equal(search('blue whale').length, 3);
  assert.deepEqual(search('blue whale', { namespace: 'n/x' }), [2]);
  assert.deepEqual(search('blue whale', { namespace: 'n' }), []);
  assert.deepEqual(search('blue whale', { minPriority: 8 }), [1]);
  assert.deepEqual(search('blue', {}, 'file:///a').sort(), [1, 3]);
  assert.deepEqual(search('', {}, 'file:///a').sort(), [1, 3]);
  assert.deepEqual(search(''), []);
  assert.deepEqual(search('"blue" NOT whale'), search('blue whale'));
  assert.deepEqual(search('blue zebra'), []);
  const all = search('blue');
  assert.deepEqual([...search('blue', { limit: 2 }), ...search('blue', { limit: 2, offset: 2 })], all);
});

test('a turn is judged with the turns beside it, of its own conversation, owner and namespace only', () => {
  const turns = (changes: (at: number) => Partial<TestRow>) => {
    const store = new TestStore();
    store.add(...filler(20));
    const said = [
      { title: 'turn 1', content: 'Ann: Where did you buy the violin?' },
      { title: 'turn 2', content: 'Ben: In the little shop by the harbour, the violin was cheap.' },
    ];
    const metadata = { agent_id: 'ai:ann' };
    const added = store.add(...said.map((row, at) => ({ ...row, metadata, turn: at, ...changes(at) })));
    const { rows } = recall(store.database, request('where did Ben buy the violin?'));
    return added.map((rid) => rows.find((row) => row.rid === rid)!.score);
  };
  const together = turns(() => ({ conversation: 'a' }));
  assert.notDeepEqual(
    together,
    turns((at) => ({ conversation: `a ${at}` })),
    'neighbours count',
  );
  const apart = turns((at) => ({ conversation: `a ${at}` }));
  assert.deepEqual(
    turns((at) => ({ conversation: 'a', metadata: { agent_id: `ai:${at}` } })),
    apart,
    'another owner',
  );
  assert.deepEqual(
    turns((at) => ({ conversation: 'a', namespace: `n${at}` })),
    apart,
    'another namespace',
  );
});

test('a turn that the viewer may not see changes no score of the turns beside it', () => {
  const stranger = { all: false, agentId: 'ai:ben', asNamespace: null };
  const scoreBeside = (conversation: string, viewer = stranger) => {
    const store = new TestStore();
    store.add(...filler(20));
    const [rid] = store.add(
      {
        ...{
          title: 'turn 1',
          content: 'Ann: Where did you buy the violin?',
          metadata: { agent_id: 'ai:ann' },
        },
        ...{ conversation: 'a', turn: 1 },
      },
      {
        ...{ title: 'turn 2', content: 'Ben: The violin was in the little shop by the harbour.' },
        ...{ metadata: { agent_id: 'ai:ann', scope: 'private' }, conversation, turn: 2 },
      },
    );
    const { rows } = recall(store.database, request('where did Ben buy the violin?', { viewer }));
    return rows.find((row) => row.rid === rid)!.score;
  };
  assert.equal(scoreBeside('a'), scoreBeside('another'));
  const owner = { ...stranger, agentId: 'ai:ann' };
  assert.notEqual(scoreBeside('a', owner), scoreBeside('another', owner));
});
