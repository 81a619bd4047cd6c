import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EntropyState } from '../../../actors/mesh/entropy-state.js';

const AT = '2026-01-01T00:00:00.000Z';

function behindAfter(gaps: readonly number[]): number {
  const state = new EntropyState();
  for (const gap of gaps)
    state.note({ comparison: 'behind', gap, differing: ['team/a'], problem: null, at: AT });
  return state.behind;
}

test('comparisons with a node that is catching up do not count towards a forced one', () => {
  assert.equal(behindAfter([50_000, 40_000, 30_000, 20_000, 10_000]), 1);
});

test('comparisons in a busy mesh, and with a node that does not catch up, count', () => {
  assert.equal(behindAfter([300, 280, 310, 290, 200]), 5);
  assert.equal(behindAfter([50_000, 50_000, 50_200, 50_300, 50_300]), 5);
});
