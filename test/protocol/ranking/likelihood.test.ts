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
const standings = fc
  .array(fc.double({ min: -3, max: 8, noNaN: true }), { maxLength: 10 })
  .map((some) => some.sort((left, right) => right - left));

test('a score is between 0 and 1 and grows with the share of a row, whatever the evidence', () => {
  const evidence: fc.Arbitrary<AnswerEvidence> = fc.record({
    ...{
      together: share,
      words: sum,
      lexical: sum,
      context: sum,
      unknown: share,
      unknownNames: share,
      standings,
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
  const near = standings.filter((some) => some.length === 0 || some[0]! > 0);
  fc.assert(
    fc.property(words, lexical, share, near, (...[held, strength, part, cosines]) => {
      // Neighbours count at most as much as a row.
      const context = part * strength;
      const evidence = { together: 1, words: held, lexical: strength, context, unknown: 0, unknownNames: 0 };
      const likely = likelihood({ ...evidence, standings: cosines });
      assert.ok(likely >= RECALL_MIN_SCORE, String(likely));
    }),
  );
});

test('an answer without a word of the query needs a meaning that stands out', () => {
  const none = { together: 0, words: 0, lexical: 0, context: 0, unknown: 1, unknownNames: 0 };
  assert.ok(likelihood({ ...none, standings: [] }) < RECALL_MIN_SCORE);
  assert.ok(likelihood({ ...none, standings: [1.5, 1.4, 1.3, 1.2] }) < RECALL_MIN_SCORE);
  assert.ok(likelihood({ ...none, standings: [4.2, 2.2, 2, 1.9] }) >= RECALL_MIN_SCORE);
});
