import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inTurn, windowIn } from '../support/turn.js';
import { seedsFrom } from './run-seeds.js';
import { doesTheSameTwice, KEPT_SEEDS, keepsItsPromises, repairsSums } from './seed-promises.js';
import { failingSeeds } from './seeds.js';

/** Another window of seeds for each commit; test:long has all of them. */
const SEEDS = 8;
const LAST_SEED = 1000;
const FIRST = windowIn(LAST_SEED, SEEDS);

describe('the mesh under faults', () => {
  it(`keeps its promises in ${SEEDS} seeds of a minute and more`, async (context) => {
    const { failures, seconds, operations } = await failingSeeds(seedsFrom(FIRST, FIRST + SEEDS - 1), 1);
    context.diagnostic(
      `${SEEDS} seeds from ${FIRST} on, ${Math.round(seconds)} virtual seconds, ${operations} operations`,
    );
    assert.equal(failures.join('\n'), '');
    assert.ok(seconds >= 60 * SEEDS);
  });

  it('keeps them in seeds that failed once', () => keepsItsPromises(inTurn(KEPT_SEEDS, 3), 1));

  it('repairs sums that are wrong without a scrub', () => repairsSums(inTurn([1, 2, 3, 4, 5, 6, 7, 8], 1)));

  it('does the same twice', () => doesTheSameTwice(inTurn([1, 2, 3], 1)));
});
