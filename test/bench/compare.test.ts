import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { comparedFigures, numbersOf } from './compare.js';

const run = (perSecond: number) =>
  numbersOf({ seconds: 4, results: [{ label: 'store', clients: 64, per_second: perSecond, bare: null }] });

describe('the comparison of two builds', () => {
  it('names a figure by the texts of its row', () => {
    assert.deepEqual(
      [...run(7)],
      [
        ['seconds', 4],
        ['results [store, clients 64] / clients', 64],
        ['results [store, clients 64] / per_second', 7],
      ],
    );
  });

  it('keeps rows apart that have the same texts', () => {
    assert.equal(numbersOf([{ label: 'a', x: 1 }, { label: 'a', x: 2 }, 3]).size, 3);
  });

  it('answers the middle ratio of the pairs with the least and the most, and no constants', () => {
    const runs = [
      { other: run(100), present: run(200) },
      { other: run(50), present: run(200) },
      { other: run(100), present: run(90) },
    ];
    assert.deepEqual(comparedFigures(runs), [
      {
        ...{ figure: 'results [store, clients 64] / per_second', other: 100, present: 200 },
        ...{ ratio: 2, least: 0.9, most: 4 },
      },
    ]);
  });

  it('leaves out a figure that one build does not have', () => {
    assert.deepEqual(comparedFigures([{ other: numbersOf({}), present: run(1) }]), []);
  });
});
