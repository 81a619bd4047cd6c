import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { inTurn, windowIn } from '../support/turn.js';
import { product } from './product.js';
import { runSeed } from './run-seed.js';
import { runScenario } from './scenario.js';
import { failingSeeds } from './seeds.js';

/** Another window of seeds for each commit; test:long has all of them. */
const SEEDS = 40;
const LAST_SEED = 1000;
const KEPT = 12;
const FIRST = windowIn(LAST_SEED, SEEDS);

/** Seeds that failed once. */
const kept = readFileSync(new URL('../../../fixtures/seeds.txt', import.meta.url), 'utf8')
  .split('\n')
  .flatMap((line) => /^\d+/.exec(line)?.[0] ?? [])
  .map(Number);

describe('the mesh under faults', () => {
  it(`keeps its promises in ${SEEDS} seeds of a minute and more`, async (context) => {
    const { failures, seconds, operations } = await failingSeeds(FIRST, FIRST + SEEDS - 1);
    context.diagnostic(
      `${SEEDS} seeds from ${FIRST} on, ${Math.round(seconds)} virtual seconds, ${operations} operations`,
    );
    assert.equal(failures.join('\n'), '');
    assert.ok(seconds >= 60 * SEEDS);
  });

  it('keeps them in the seeds that failed once', async () => {
    for (const seed of inTurn([...new Set(kept)], KEPT)) {
      const { failures } = await failingSeeds(seed, seed);
      assert.equal(failures.join('\n'), '');
    }
  });

  it('repairs sums that are wrong without a scrub', async () => {
    for (let seed = 1; seed <= 8; seed += 1) {
      const damages = ['digest changed'] as const;
      const { violations } = await runScenario({
        seed,
        join: product,
        nodes: 4,
        faults: ['damage', 'crash'],
        damages,
      });
      assert.deepEqual(violations, [], `seed ${seed}`);
    }
  });

  it('does the same twice', async () => {
    const options = { mutant: null, faults: null, nodes: null, twice: true, plain: false };
    for (const seed of [1, 2, 3]) {
      const { outcome } = await runSeed(seed, options, false);
      assert.deepEqual(
        outcome.violations.filter(({ check }) => check === 'digest'),
        [],
      );
    }
  });
});
