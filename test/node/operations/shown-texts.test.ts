import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Passages } from '../../../node/operations/core/passage.js';
import { sharedTexts, sharesOf } from '../../../node/operations/core/shown-texts.js';
import { estimatedTokens } from '../../../node/semantics/estimated-tokens.js';
import { PASSAGE_TOKENS_MIN, PASSAGES_TOKENS, SHORT_TEXT_TOKENS } from '../../../protocol/base/limits.js';
import fc from '../../support/properties.js';

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

describe('the shares of a budget', () => {
  it('give the best rows more, and what one does not need to the next', () => {
    assert.deepEqual(sharesOf([5000, 5000, 5000], 1000, true), [40 + 440 + 110, 40 + 220, 40 + 110]);
    assert.deepEqual(sharesOf([200, 5000, 5000], 1000, true), [200, 40 + 360 + 180, 40 + 180]);
    assert.deepEqual(sharesOf([5000, 30], 1000, true), [970, 30], 'what remains goes to the first');
    assert.deepEqual(sharesOf([5000, 5000, 130], 1000, false), [40 + 293 + 204, 40 + 293, 130]);
  });

  it('leave short texts whole, and half of the budget to the best rows, however many there are', () => {
    const many = Array.from({ length: 50 }, () => SHORT_TEXT_TOKENS);
    assert.deepEqual(sharesOf(many, 10, true), many);
    const long = Array.from({ length: 50 }, () => 9000);
    const shares = sharesOf(long, 1000, true);
    assert.equal(shares[0], PASSAGE_TOKENS_MIN + 250 + 1);
    assert.ok(shares.every((share) => share >= PASSAGE_TOKENS_MIN));
    assert.equal(sum(shares), 50 * PASSAGE_TOKENS_MIN + 500);
  });

  it('stay within bounds for any texts', () => {
    const needs = fc.array(fc.nat({ max: 20_000 }), { maxLength: 50 });
    fc.assert(
      fc.property(needs, fc.nat({ max: 9000 }), fc.boolean(), (all, budget, ranked) => {
        const shares = sharesOf(all, budget, ranked);
        const least = all.map((need) => (need <= SHORT_TEXT_TOKENS ? need : PASSAGE_TOKENS_MIN));
        for (const [at, share] of shares.entries()) {
          assert.ok(Number.isInteger(share) && share >= least[at]! && share <= all[at]!);
        }
        assert.ok(sum(shares) <= Math.max(budget, sum(least) + budget / 2));
        assert.ok(sum(shares) === sum(all) || sum(shares) >= budget - all.length, 'nothing is kept back');
      }),
    );
  });
});

describe('the texts of an answer', () => {
  const long = 'The ferry leaves at noon from the northern pier. '.repeat(200);
  const short = 'The ferry is full.';

  it('are whole where they fit, and passages where not, about as long as the budget', () => {
    const texts = [short, long, short];
    const shown = sharedTexts(new Passages('ferry'), texts, { budget: null, ranked: true });
    assert.deepEqual(
      shown.map(({ whole }) => whole),
      [true, false, true],
    );
    const tokens = sum(shown.map(({ text }) => estimatedTokens(text)));
    assert.ok(tokens > PASSAGES_TOKENS * 0.9 && tokens < PASSAGES_TOKENS * 1.1, `${tokens}`);
    const all = sharedTexts(new Passages('ferry'), texts, { budget: 9000, ranked: true });
    assert.deepEqual(
      all.map(({ text }) => text),
      texts,
    );
  });

  it('are estimated by their characters and bytes', () => {
    assert.equal(estimatedTokens('abcd'.repeat(10)), 10);
    assert.equal(estimatedTokens('会議'.repeat(10)), 25);
    assert.equal(estimatedTokens(''), 0);
  });
});
