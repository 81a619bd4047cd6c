import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inTurn, windowIn } from './turn.js';

const sorted = (numbers: Iterable<number>) => [...new Set(numbers)].sort((a, b) => a - b);
const from = (first: number, count: number) => Array.from({ length: count }, (_, at) => first + at);

describe('what commits look at in turn', () => {
  it('is every member of a list over neighbouring turns, some at each', () => {
    for (const [length, count] of [
      [38, 4],
      [19, 3],
      [8, 2],
      [3, 1],
      [2, 5],
    ] as const) {
      const all = from(0, length);
      const turns = from(7_000_000, Math.ceil(length / count)).map((turn) => inTurn(all, count, turn));
      assert.deepEqual(sorted(turns.flat()), all);
      for (const some of turns) assert.equal(new Set(some).size, Math.min(count, length));
    }
  });

  it('is every number up to the last one over neighbouring turns, as many at each', () => {
    for (const [last, count] of [
      [1000, 12],
      [996, 12],
      [5, 8],
    ] as const) {
      const firsts = from(7_000_000, Math.ceil(last / count)).map((turn) => windowIn(last, count, turn));
      assert.deepEqual(sorted(firsts.flatMap((first) => from(first, count))).slice(0, last), from(1, last));
      assert.equal(new Set(firsts).size, firsts.length);
    }
  });
});
