import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type AnswerEvidence,
  likelihood,
  RECALL_MIN_SCORE,
  rowScore,
} from '../../../protocol/ranking/likelihood.js';
import fc from '../../support/properties.js';

const share = fc.double({ min: 0, max: 1, noNaN: true });
const sum = fc.double({ min: 0, max: 32, noNaN: true });
const standing = fc.option(fc.double({ min: -1, max: 3, noNaN: true }));

test('a score is between 0 and 1 and grows with the share of a row, whatever the evidence', () => {
  const evidence: fc.Arbitrary<AnswerEvidence> = fc.record({
    ...{
      together: share,
      words: sum,
      lexical: sum,
      context: sum,
      unknown: share,
      unknownNames: share,
      standing,
    },
  });
  fc.assert(
    fc.property(evidence, share, share, (one, first, second) => {
      const likely = likelihood(one);
      assert.ok(likely > 0 && likely < 1, String(likely));
      const [less, more] = [
        rowScore(likely, Math.min(first, second)),
        rowScore(likely, Math.max(first, second)),
      ];
      assert.ok(less >= 0 && less <= more && more <= likely);
    }),
  );
});

test('an answer with every word of the query in one row passes the cut, however common the words are', () => {
  const lexical = fc.double({ min: 0.02, max: 10, noNaN: true });
  const words = fc.double({ min: 0.02, max: 32, noNaN: true });
  // The nearest of unrelated rows stands out by about 1.
  const near = standing.filter((one) => one === null || one > 0.5);
  fc.assert(
    fc.property(words, lexical, share, near, (...[held, strength, part, cosine]) => {
      // Neighbours count at most as much as a row.
      const context = part * strength;
      const evidence = { together: 1, words: held, lexical: strength, context, unknown: 0, unknownNames: 0 };
      const likely = likelihood({ ...evidence, standing: cosine });
      assert.ok(likely >= RECALL_MIN_SCORE, String(likely));
    }),
  );
});

test('an answer without a word of the query needs a meaning that stands out', () => {
  const none = { together: 0, words: 0, lexical: 0, context: 0, unknown: 1, unknownNames: 0 };
  assert.ok(likelihood({ ...none, standing: null }) < RECALL_MIN_SCORE);
  assert.ok(likelihood({ ...none, standing: 0.5 }) < RECALL_MIN_SCORE);
  assert.ok(likelihood({ ...none, standing: 1.4 }) >= RECALL_MIN_SCORE);
});
