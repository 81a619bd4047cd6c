import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boostOf, type Standing } from '../../../protocol/ranking/boosts.js';
import { AnswerEvidence, featuresOf, type RowEvidence } from '../../../protocol/ranking/evidence.js';
import { inverseFrequency } from '../../../protocol/ranking/lexical.js';
import { logOdds } from '../../../protocol/ranking/likelihood.js';
import { RANKING_WEIGHTS } from '../../../protocol/ranking/weights.js';
import fc from '../../support/properties.js';

const standing: fc.Arbitrary<Standing> = fc.record({
  tier: fc.constantFrom('short', 'mid', 'long'),
  priority: fc.integer({ min: 1, max: 10 }),
  confidence: fc.double({ min: 0, max: 1, noNaN: true }),
  ageDays: fc.double({ min: 0, max: 10_000, noNaN: true }),
  recalled: fc.boolean(),
});

/** What all boosts together can move a row by, in log odds. */
const MOST =
  RANKING_WEIGHTS.boostTier +
  RANKING_WEIGHTS.boostPriority +
  RANKING_WEIGHTS.boostConfidence +
  RANKING_WEIGHTS.boostRecency +
  RANKING_WEIGHTS.boostSession;

test('the boosts of two rows differ by no more than their weights', () => {
  fc.assert(
    fc.property(standing, standing, (one, other) => {
      const apart = boostOf(one, RANKING_WEIGHTS) - boostOf(other, RANKING_WEIGHTS);
      assert.ok(Number.isFinite(apart) && Math.abs(apart) <= MOST + 1e-9, String(apart));
    }),
  );
});

test('no boost buries a match that explains the query over one that explains four fifths of it', () => {
  const part = { titled: 0, names: 0, near: 3, adjacent: 2, phrases: 0, asks: false, letters: 80 };
  const none = { deviations: null, standing: null, neighbours: [null, null, null, null] };
  const row = (share: number): RowEvidence => ({
    ...{ ...part, ...none, lexical: 1.8 * share, covered: share, together: share, words: 4 * share },
  });
  const [exact, partly] = [row(1), row(0.8)];
  const asked = { unknown: 0, unknownNames: 0, names: 0, explained: 1, terms: 4, rows: 30 };
  const answer = new AnswerEvidence([exact, partly]);
  const oddsOf = (one: RowEvidence) => logOdds(featuresOf(one, asked, answer, 'note', false), 'note', false);
  const low = { tier: 'short', priority: 1, confidence: 0, ageDays: 4000, recalled: false };
  const high = { tier: 'long', priority: 10, confidence: 1, ageDays: 0, recalled: true };
  assert.ok(boostOf(high, RANKING_WEIGHTS) > boostOf(low, RANKING_WEIGHTS));
  assert.ok(oddsOf(exact) + boostOf(low, RANKING_WEIGHTS) > oddsOf(partly) + boostOf(high, RANKING_WEIGHTS));
});

test('a word tells less the more rows have it, and never less than nothing', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1e6 }), fc.nat(), fc.nat(), (rows, one, other) => {
      const [few, many] = [Math.min(one, other) % (rows + 1), Math.max(one, other)];
      assert.ok(inverseFrequency(rows, Math.max(few, many)) <= inverseFrequency(rows, few));
      assert.ok(inverseFrequency(rows, many) > 0);
    }),
  );
});
