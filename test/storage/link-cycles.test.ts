import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LinkCycles } from '../../storage/sql/link-cycles.js';
import fc from '../support/properties.js';
import { type Replica, replica } from '../support/replicas.js';

const key = (source: number, target: number) => ({
  ...{ source_id: `m${source}`, target_id: `m${target}`, relation: 'reflects_on' as const },
});

/** Rows as a walk sees them. */
function put(
  { db }: Replica,
  rows: readonly (readonly [number, number, relation?: string, rest?: string])[],
) {
  const insert = db.prepare(
    'INSERT INTO memory_links (source_id, target_id, relation, created_at, rest) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
  );
  db.exec('DELETE FROM memory_links');
  for (const [from, to, relation = 'reflects_on', rest = '{}'] of rows)
    insert.run(`m${from}`, `m${to}`, relation, '2026-01-01T00:00:00.000Z', rest);
}

describe('the search for a cycle', () => {
  const one = replica('a', Date.parse('2026-02-01T00:00:00.000Z'));
  const cycles = new LinkCycles(one.db);

  it('agrees with the closure of all links', () => {
    const edge = fc.tuple(fc.nat(6), fc.nat(6)).filter(([from, to]) => from !== to);
    fc.assert(
      fc.property(fc.array(edge, { maxLength: 14 }), edge, (edges, [source, target]) => {
        put(one, edges);
        const reached = new Set([target]);
        for (let round = 0; round < 7; round += 1)
          for (const [from, to] of edges) if (reached.has(from)) reached.add(to);
        const expected = reached.has(source) ? 'yes' : 'no';
        assert.equal(cycles.leadsBack(key(source, target), 1000), expected);
      }),
      { numRuns: 300 },
    );
  });

  it('passes links of other relations and those that were invalidated', () => {
    put(one, [
      [1, 2, 'depends_on'],
      [1, 3, 'reflects_on', '{"retired_at":"2026-01-02T00:00:00.000Z"}'],
      [2, 0],
      [3, 0],
    ]);
    assert.equal(cycles.leadsBack(key(0, 1), 1000), 'no');
    assert.equal(cycles.leadsBack(key(0, 3), 1000), 'yes');
  });

  it('looks at so many links and no more', () => {
    put(one, [
      ...Array.from({ length: 50 }, (_, at) => [1, at + 10, 'related_to'] as const),
      [1, 70],
      [70, 0],
    ]);
    assert.equal(cycles.leadsBack(key(0, 1), 50), 'unknown');
    assert.equal(cycles.leadsBack(key(0, 1), 52), 'yes');
    assert.equal(cycles.leadsBack(key(9, 1), 52), 'no');
    assert.equal(cycles.leadsBack(key(9, 1), 51), 'unknown');
  });
});
