import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runScopedPeer, type ScopeMutant } from './scoped-peer.js';

const SEEDS = 6;
/** A planted bug is caught within so many seeds. */
const CAUGHT_WITHIN = 50;

describe('a peer with a scope that writes whatever it likes', () => {
  it(`changes nothing outside its scope in ${SEEDS} seeds`, async (context) => {
    let taken = 0;
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const run = await runScopedPeer(seed, null);
      assert.equal(run.difference, null, `seed ${seed}, step ${run.step}`);
      taken += run.taken;
    }
    context.diagnostic(`${taken} of its operations had an effect inside`);
    assert.ok(taken > SEEDS);
  });

  for (const mutant of ['header alone', 'author unasked'] satisfies readonly ScopeMutant[]) {
    it(`is noticed when the check is missing: ${mutant}`, async (context) => {
      for (let seed = 1; seed <= CAUGHT_WITHIN; seed += 1) {
        const { difference, step } = await runScopedPeer(seed, mutant);
        if (difference === null) continue;
        context.diagnostic(`caught at seed ${seed}, step ${step}: ${difference.slice(0, 160)}`);
        return;
      }
      assert.fail(`not caught within ${CAUGHT_WITHIN} seeds`);
    });
  }
});
