import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  AnswerEvidence,
  featuresOf,
  ROW_SORTS,
  type RowEvidence,
} from '../../../protocol/ranking/evidence.js';
import { FITTED } from '../../../protocol/ranking/fitted-weights.js';
import {
  leastWeakScore,
  likelihood,
  logOdds,
  RECALL_MIN_SCORE,
} from '../../../protocol/ranking/likelihood.js';
import fc from '../../support/properties.js';

const share = fc.double({ min: 0, max: 1, noNaN: true });
const sum = fc.double({ min: 0, max: 32, noNaN: true });
const deviations = fc.option(fc.double({ min: -3, max: 6, noNaN: true }));
const neighbour = fc.option(
  fc.record({ lexical: sum, covered: share, fresh: share, deviations, asks: fc.boolean() }),
);
const row: fc.Arbitrary<RowEvidence> = fc.record({
  ...{ lexical: sum, covered: share, together: share, words: sum, titled: share, names: share },
  ...{ near: fc.nat(28), adjacent: fc.nat(28), phrases: fc.nat(31), asks: fc.boolean() },
  letters: fc.nat(65_536),
  deviations,
  standing: fc.option(fc.double({ min: -1, max: 3, noNaN: true })),
  neighbours: fc.array(neighbour, { minLength: 4, maxLength: 4 }),
});
const query = fc.record({
  ...{ unknown: share, unknownNames: share, names: share, explained: share },
  ...{ terms: fc.nat(32), rows: fc.nat(1_000_000) },
});

test('a likelihood is between 0 and 1, and every number of the evidence has a weight', () => {
  fc.assert(
    fc.property(
      fc.array(row, { minLength: 1, maxLength: 5 }),
      query,
      fc.boolean(),
      (rows, asked, meaning) => {
        const answer = new AnswerEvidence(rows);
        for (const sort of ROW_SORTS) {
          for (const one of rows) {
            const features = featuresOf(one, asked, answer, sort, meaning);
            assert.ok(features.every(Number.isFinite), JSON.stringify(features));
            assert.equal(features.length, FITTED[sort][meaning ? 'hybrid' : 'words'].length);
            const likely = likelihood(logOdds(features, sort, meaning));
            assert.ok(likely > 0 && likely < 1, String(likely));
          }
        }
      },
    ),
  );
});

const NOTHING: RowEvidence = {
  ...{ lexical: 0, covered: 0, together: 0, words: 0, titled: 0, names: 0, near: 0, adjacent: 0, phrases: 0 },
  ...{ asks: false, letters: 80, deviations: null, standing: null, neighbours: [null, null, null, null] },
};
const ASKED = { unknown: 0, unknownNames: 0, names: 0, explained: 1, terms: 4, rows: 30 };

function scoreOf(one: RowEvidence, others: readonly RowEvidence[], asked = ASKED): number {
  const meaning = one.deviations !== null;
  const answer = new AnswerEvidence([one, ...others]);
  return likelihood(logOdds(featuresOf(one, asked, answer, 'note', meaning), 'note', meaning));
}

test('a note with every word of the query passes the cut, and one beside it with a single word does not', () => {
  const whole = { ...NOTHING, lexical: 1.8, covered: 1, together: 1, words: 4, near: 3, adjacent: 2 };
  const part = { ...NOTHING, lexical: 0.25, covered: 0.2, together: 0.2, words: 0.8 };
  assert.ok(scoreOf(whole, [part]) >= RECALL_MIN_SCORE);
  assert.ok(scoreOf(part, [whole]) < RECALL_MIN_SCORE);
  const near = { ...whole, deviations: 4, standing: 1.5 };
  const far = { ...part, deviations: 0, standing: 0 };
  assert.ok(scoreOf(near, [far]) >= 0.5);
  assert.ok(scoreOf(far, [near]) < RECALL_MIN_SCORE);
});

test('a note without a word of the query needs a meaning that stands out', () => {
  const none = { ...ASKED, unknown: 1, explained: 0 };
  const meant = (by: number) => ({ ...NOTHING, deviations: 3.5 * by, standing: by });
  assert.ok(scoreOf(meant(0.4), [meant(0.3)], none) < RECALL_MIN_SCORE);
  assert.ok(scoreOf(meant(1.5), [meant(0.3)], none) >= RECALL_MIN_SCORE);
});

test('a doubtful answer has weak rows that are near the first one, and a sure one has none', () => {
  assert.equal(leastWeakScore(0.5), null);
  assert.equal(leastWeakScore(0.4), 0.1);
  assert.equal(leastWeakScore(0.1), 0.05);
});
