import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recall } from '../../../storage/sql/recall/recall.js';
import fc from '../../support/properties.js';
import { request, type TestRow, TestStore, vectors } from './store.js';

const WORDS = [
  'crane',
  'ferry',
  'harbour',
  'key',
  'oven',
  'invoice',
  'pilot',
  'storm',
  'badge',
  'diesel',
  'port',
  'river',
];
const words = (min: number, max: number) =>
  fc.array(fc.constantFrom(...WORDS), { minLength: min, maxLength: max }).map((some) => some.join(' '));

/** Notes of two authors in two namespaces, with titles, tags and two-dimensional meanings. */
const notes = fc.array(
  fc.record({
    title: words(1, 3),
    content: words(3, 12),
    tags: fc.array(fc.constantFrom(...WORDS), { maxLength: 2 }),
    namespace: fc.constantFrom('team', 'team/harbour'),
    author: fc.constantFrom('ai:ann', 'ai:ben'),
    cosine: fc.double({ min: -1, max: 1, noNaN: true }),
    /** Deleted before anything is asked. */
    gone: fc.boolean(),
  }),
  { minLength: 2, maxLength: 24 },
);

type Note = (typeof notes extends fc.Arbitrary<infer T> ? T : never)[number];

/** The scores of the notes by their place in `all`, when they are stored in this order. */
function scoresOf(
  all: readonly Note[],
  order: readonly number[],
  query: string,
  meaning: boolean,
): Map<number, number> {
  const store = new TestStore();
  const placeOf = new Map<number, number>();
  for (const place of order) {
    const { title, content, tags, namespace, author, cosine, gone } = all[place]!;
    const vector = [cosine, Math.sqrt(1 - cosine ** 2)];
    const row: TestRow = {
      ...{ title: `${title} ${place}`, content, tags, namespace, vector },
      metadata: { agent_id: author },
    };
    const [rid] = store.add(row);
    if (gone) store.database.prepare('DELETE FROM memories WHERE rid = ?').run(rid);
    else placeOf.set(rid!, place);
  }
  const hits = [...placeOf].map(([rid, place]) => [rid, all[place]!.cosine] as const);
  const nearest = hits.toSorted((one, other) => other[1] - one[1]);
  const { rows } = recall(
    store.database,
    request(query, { namespace: 'team/**', limit: 50, vectors: meaning ? vectors(...nearest) : null }),
  );
  return new Map(rows.map(({ rid, score }) => [placeOf.get(rid)!, score]));
}

test('the order in which notes are stored changes no score', () => {
  const cases = notes.chain((all) =>
    fc.record({
      all: fc.constant(all),
      order: fc.shuffledSubarray([...all.keys()], { minLength: all.length, maxLength: all.length }),
      query: words(1, 4),
      meaning: fc.boolean(),
    }),
  );
  fc.assert(
    fc.property(cases, ({ all, order, query, meaning }) => {
      const first = scoresOf(all, [...all.keys()], query, meaning);
      const other = scoresOf(all, order, query, meaning);
      assert.deepEqual([...other.keys()].sort(), [...first.keys()].sort());
      for (const [place, score] of first) {
        assert.ok(Math.abs(score - other.get(place)!) < 1e-9, `${place}: ${score} and ${other.get(place)}`);
      }
    }),
  );
});
