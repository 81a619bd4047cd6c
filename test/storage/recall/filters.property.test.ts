import assert from 'node:assert/strict';
import { test } from 'node:test';
import { confidenceTierOf } from '../../../protocol/memory/confidence.js';
import type { RecallFilter, VectorEvidence } from '../../../protocol/memory/recall-request.js';
import { recall } from '../../../storage/sql/recall/recall.js';
import fc from '../../support/properties.js';
import { request, type TestRow, TestStore } from './store.js';

const instants = [
  '2026-01-01T00:00:00.000Z',
  '2026-02-01T00:00:00.000Z',
  '2026-03-01T00:00:00.000Z',
] as const;

const word = fc.constantFrom('needle', 'hay', 'thread', 'common', 'straw');
const row: fc.Arbitrary<TestRow> = fc.record({
  title: fc.constant('row'),
  content: fc.array(word, { minLength: 1, maxLength: 6 }).map((words) => words.join(' ')),
  namespace: fc.constantFrom('team', 'team/alpha', 'other'),
  tags: fc.subarray(['red', 'green', 'x-1']),
  createdAt: fc.constantFrom(...instants),
  kind: fc.constantFrom('observation', 'decision', 'claim'),
  tier: fc.constantFrom('short', 'mid', 'long'),
  priority: fc.integer({ min: 1, max: 10 }),
  confidence: fc.constantFrom(0, 0.5, 0.7, 0.94, 0.95, 1),
  citations: fc.constantFrom([], [{ uri: 'doc:a', accessed_at: instants[0] }]),
  metadata: fc.constantFrom(
    {},
    { scope: 'private', agent_id: 'me' },
    { scope: 'private', agent_id: 'other' },
  ),
});
const sourced = fc
  .tuple(row, fc.constantFrom(undefined, 'doc:a/1', 'doc:b', 'file:a'), fc.option(fc.constant(2)))
  .map(([plain, sourceUri, atomisedInto]) => ({
    ...plain,
    ...(sourceUri === undefined ? {} : { sourceUri }),
    ...(atomisedInto === null ? {} : { atomisedInto }),
  }));

const orNull = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: null });
const filter: fc.Arbitrary<RecallFilter> = fc.record({
  tags: fc.oneof(fc.constant([]), fc.subarray(['red', 'green', 'blue', 'x-1'])),
  since: orNull(fc.constantFrom(...instants)),
  until: orNull(fc.constantFrom(...instants)),
  kinds: orNull(fc.subarray(['decision', 'claim', 'rumour'])),
  tier: orNull(fc.constantFrom('short' as const, 'long' as const)),
  hasCitations: fc.boolean(),
  sourceUriPrefix: orNull(fc.constantFrom('doc:', 'doc:a', 'file:a', 'doc:%')),
  confidence: orNull(fc.constantFrom('confirmed' as const, 'likely' as const, 'ambiguous' as const)),
  includeArchived: fc.boolean(),
});

/** The filters once more, in plain words. */
function passes(one: TestRow, wanted: RecallFilter): boolean {
  const confidence = wanted.confidence ?? null;
  const prefix = wanted.sourceUriPrefix ?? null;
  return (
    (wanted.tags.length === 0 || wanted.tags.some((tag) => one.tags?.includes(tag))) &&
    (wanted.since === null || one.createdAt! >= wanted.since) &&
    (wanted.until === null || one.createdAt! <= wanted.until) &&
    (wanted.kinds === null || wanted.kinds.includes(one.kind!)) &&
    ((wanted.tier ?? null) === null || one.tier === wanted.tier) &&
    (wanted.hasCitations !== true || one.citations!.length > 0) &&
    (prefix === null || one.sourceUri?.startsWith(prefix) === true) &&
    (confidence === null || confidenceTierOf(one.confidence!) === confidence) &&
    (wanted.includeArchived === true || one.atomisedInto === undefined)
  );
}

const me = { all: false, agentId: 'me', asNamespace: null };

test('a filtered recall is the ranked list without the rows that do not pass, by words and by meaning', () => {
  fc.assert(
    fc.property(
      fc.array(sourced, { minLength: 1, maxLength: 30 }),
      filter,
      orNull(fc.constantFrom('team/alpha', 'team')),
      fc.integer({ min: 1, max: 40 }),
      fc.boolean(),
      (rows, wanted, namespace, limit, hybrid) => {
        const store = new TestStore();
        const rids = store.add(
          ...rows.map((one, index) => ({ ...one, title: `row ${index}`, vector: [1, index % 5] })),
        );
        const vectors: VectorEvidence | null = hybrid
          ? {
              queryVector: Float32Array.of(1, 0),
              hits: rids.map((rid) => ({ rid, cosine: 0.1 })),
              mean: 0.1,
              deviation: 0.3,
              scanned: rids.length,
            }
          : null;
        const run = (changes: object) =>
          recall(store.database, request('needle thread', { viewer: me, namespace, vectors, ...changes }));
        const everything = run({ limit: 50, includeArchived: true });
        const expected = everything.rows.filter(({ rid }) => passes(rows[rids.indexOf(rid)]!, wanted));
        const found = run({ ...wanted, limit });
        if (wanted.tags.length === 0) assert.deepEqual(found.rows, expected.slice(0, limit));
        else {
          // The weight of a word is measured among the rows with the tags, so only which rows come is the same.
          assert.equal(found.rows.length, Math.min(limit, expected.length));
          if (limit >= expected.length) {
            assert.deepEqual(
              new Set(found.rows.map(({ rid }) => rid)),
              new Set(expected.map(({ rid }) => rid)),
            );
          }
        }
        const unsure = everything.rows.filter(({ rid }) => {
          const one = rows[rids.indexOf(rid)]!;
          return passes(one, { ...wanted, confidence: null }) && !passes(one, wanted);
        });
        assert.equal(
          found.confidenceFilteredOut,
          unsure.length,
          'what the confidence filter removed is counted',
        );
      },
    ),
    { numRuns: 150 },
  );
});

test('each filter finds one old row behind thousands that match better', () => {
  const one: Partial<TestRow> = {
    kind: 'claim',
    tier: 'long',
    confidence: 0.5,
    citations: [{ uri: 'doc:a' }],
    sourceUri: 'doc:old/1',
  };
  const store = new TestStore();
  const [rid] = store.add({ title: 'old', content: 'some needle in a stack of common words', ...one });
  store.add(
    ...Array.from({ length: 4000 }, (_, n) => ({ title: `new ${n}`, content: 'needle needle common' })),
  );
  const filters: Partial<RecallFilter>[] = [
    { kinds: ['claim'] },
    { tier: 'long' },
    { confidence: 'ambiguous' },
    { hasCitations: true },
    { sourceUriPrefix: 'doc:old' },
  ];
  for (const wanted of filters) {
    for (const query of ['needle', 'needle common words']) {
      const found = recall(store.database, request(query, { ...wanted, limit: 5 }));
      assert.deepEqual(
        found.rows.map((row) => row.rid),
        [rid],
        JSON.stringify(wanted),
      );
    }
  }
});

test('a row that passes is found by its meaning even when the vector index proposed none of its kind', () => {
  const store = new TestStore();
  const [rid] = store.add({ title: 'old', content: 'automobile', kind: 'claim', vector: [1, 0] });
  store.add(...Array.from({ length: 200 }, (_, n) => ({ title: `${n}`, content: 'x', vector: [1, 0.1] })));
  const vectors: VectorEvidence = {
    queryVector: Float32Array.of(1, 0),
    hits: [],
    mean: 0.1,
    deviation: 0.2,
    // More than the index looks through.
    scanned: 100_000,
  };
  const found = recall(store.database, request('car', { kinds: ['claim'], vectors }));
  assert.deepEqual(
    found.rows.map((row) => row.rid),
    [rid],
  );
});

test('a row that the session has seen goes before its equals, and not before a better one', () => {
  const store = new TestStore();
  // Apart from one another, because neighbours lend each other weight.
  let others = 0;
  const apart = (row: TestRow) => {
    const [rid] = store.add(
      row,
      ...Array.from({ length: 5 }, () => ({ title: `other ${others++}`, content: 'x' })),
    );
    return rid!;
  };
  const first = apart({ title: 'a', content: 'needle in hay' });
  const second = apart({ title: 'b', content: 'needle in hay' });
  const better = apart({ title: 'needle', content: 'a needle, the needle' });
  const order = (recalled: readonly number[]) =>
    recall(store.database, request('needle', { recalled })).rows.map((row) => row.rid);
  assert.deepEqual(order([]), [better, second, first]);
  assert.deepEqual(order([first]), [better, first, second]);
});
