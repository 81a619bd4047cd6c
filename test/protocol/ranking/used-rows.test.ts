import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { usedRows } from '../../../protocol/ranking/used-rows.js';

const row = (rid: number, title: string, content = '') => ({
  memory: { id: `m${rid}`, rid, title, content, tags: [] },
});
const vectors = (hits: readonly (readonly [rid: number, cosine: number])[]) => ({
  queryVector: Float32Array.of(1),
  hits: hits.map(([rid, cosine]) => ({ rid, cosine })),
  mean: 0.1,
  deviation: 0.1,
  scanned: 100,
});

describe('the rows that a recall used', () => {
  const rows = [
    row(1, 'Deploy window'),
    row(2, 'Windows of deploys'),
    row(3, 'Lunch'),
    row(4, 'Deploy window too'),
  ];

  it('are those of the first three that hold half of the words of the query', () => {
    assert.deepEqual(usedRows('when is the deploy window?', rows, null), ['m1', 'm2']);
    assert.deepEqual(usedRows('window of the zoo', rows, null), ['m1', 'm2']);
    assert.deepEqual(usedRows('window of the zoo in Berlin', rows, null), []);
  });

  it('are also those whose meaning stands out', () => {
    assert.deepEqual(usedRows('release calendar', rows, vectors([[3, 0.6]])), ['m3']);
    assert.deepEqual(usedRows('release calendar', rows, vectors([[3, 0.44]])), [], 'not near enough');
    assert.deepEqual(usedRows('release calendar', rows, { ...vectors([[3, 0.6]]), deviation: 0.3 }), []);
  });

  it('are none for a query that names nothing', () => {
    assert.deepEqual(usedRows('what is it', [row(1, 'what is it')], null), []);
  });
});
