import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { seedsFrom } from './run-seeds.js';
import { doesTheSameTwice, KEPT_SEEDS, keepsItsPromises, repairsSums } from './seed-promises.js';
import { failingSeeds } from './seeds.js';

const FIRST = 1;
const LAST = 4000;

describe('the mesh under faults, at length', () => {
  it(`keeps its promises in seeds ${FIRST} to ${LAST}`, async (context) => {
    const { failures, seconds, operations } = await failingSeeds(seedsFrom(FIRST, LAST), 2);
    context.diagnostic(`${Math.round(seconds)} virtual seconds, ${operations} operations`);
    assert.equal(failures.join('\n'), '');
  });

  it('keeps them in all seeds that failed once', () =>
    keepsItsPromises(
      KEPT_SEEDS.filter((seed) => seed > LAST),
      2,
    ));

  it('repairs sums that are wrong without a scrub', () => repairsSums([1, 2, 3, 4, 5, 6, 7, 8]));

  it('does the same twice', () => doesTheSameTwice([1, 2, 3]));
});
