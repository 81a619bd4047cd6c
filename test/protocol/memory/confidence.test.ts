import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { instantAfter } from '../../../protocol/base/time.js';
import {
  confidenceSignals,
  decayedConfidence,
  derivedConfidence,
  type Evidence,
} from '../../../protocol/memory/confidence.js';

const NOW = '2026-07-28T12:00:00.000Z';
const daysAgo = (days: number) => instantAfter(NOW, -days * 86_400);

describe('a derived confidence', () => {
  const derived = (evidence: Partial<Evidence>, halfLife = 30) => {
    const signals = confidenceSignals(
      { writtenAt: NOW, isAtom: false, corroborations: 0, ...evidence },
      NOW,
      halfLife,
    );
    return derivedConfidence(signals, halfLife);
  };

  it('is 0.5 for a new memory, and more for an atom and for links', () => {
    assert.equal(derived({}), 0.5);
    assert.equal(derived({ isAtom: true }), 0.6);
    assert.equal(derived({ corroborations: 9 }), 0.55);
    assert.equal(derived({ isAtom: true, corroborations: 999 }), 0.75);
  });

  it('comes back to the baseline with age, slower with a longer half-life', () => {
    // base = 0.6 - 0.02 * 30 * ln 2 / 30 = 0.58614; half of it is fresh: 0.29307 + 0.25
    assert.equal(derived({ isAtom: true, writtenAt: daysAgo(30) }), 0.5431);
    assert.equal(derived({ isAtom: true, writtenAt: daysAgo(30) }, 300), 0.592);
    assert.equal(derived({ isAtom: true, writtenAt: daysAgo(36_500) }), 0.5);
  });

  it('says what it was made from', () => {
    assert.deepEqual(
      confidenceSignals({ writtenAt: daysAgo(60), isAtom: true, corroborations: 4 }, NOW, 30),
      {
        source_age_days: 60,
        atom_derivation: true,
        prior_corroboration_count: 4,
        freshness_factor: 0.25,
        baseline_per_source: 0.5,
      },
    );
  });

  it('takes a text of the future for a new one', () => {
    assert.equal(derived({ writtenAt: daysAgo(-400) }), 0.5);
  });
});

describe('a decayed confidence', () => {
  const left = (confidence: number, days: number, halfLife = 30) =>
    decayedConfidence({ confidence, writtenAt: daysAgo(days) }, NOW, halfLife);

  it('halves with each half-life', () => {
    assert.deepEqual(
      [left(1, 30), left(0.8, 60), left(0.8, 30, 15), left(1, 60, 60), left(1, 36_500)],
      [0.5, 0.2, 0.2, 0.5, 0],
    );
  });

  it('is the stored one, to the last decimal, while nothing is lost', () => {
    for (const confidence of [1, 0.123456, 0.99996, 0.00004, 0]) {
      assert.equal(left(confidence, 0), confidence);
      assert.equal(left(confidence, -3), confidence);
      assert.equal(left(confidence, 0.0001), confidence);
    }
  });

  it('is never higher than the stored one', () => {
    for (let step = 0; step < 400; step += 1) assert.ok(left(0.12344, step / 400) <= 0.12344);
  });
});
