import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { applyBudget, countsWithin } from '../../../node/semantics/budget.js';
import fc from '../../support/properties.js';

const row = (content: string) => ({ memory: { content } });
const rowsOf = (...lengths: number[]) => lengths.map((length) => row('x'.repeat(length)));
/** One token for each character, so that lengths are tokens; as many counts as the counter gives. */
function countsOf(
  rows: readonly { readonly memory: { readonly content: string } }[],
  budget: number,
): number[] {
  const counts = rows.map(({ memory }) => memory.content.length);
  return [...countsWithin(counts.map(String), budget, Number)];
}
const applied = (rows: ReturnType<typeof rowsOf>, budget: number) =>
  applyBudget(rows, budget, countsOf(rows, budget));

describe('a token budget', () => {
  it('keeps the rows that fit and stops at the first that does not', () => {
    const rows = rowsOf(4, 3, 9, 1);
    const outcome = applied(rows, 8);
    assert.deepEqual(outcome.rows, rows.slice(0, 2));
    assert.equal(outcome.tokensUsed, 7);
    assert.deepEqual(outcome.meta, {
      budget_tokens_used: 7,
      budget_tokens_remaining: 1,
      memories_dropped: 2,
      budget_overflow: false,
    });
  });

  it('takes a row that fills it exactly', () => {
    assert.equal(applied(rowsOf(4, 4), 8).rows.length, 2);
    assert.equal(applied(rowsOf(8, 1), 8).rows.length, 1);
  });

  it('returns the first row though it alone is over, and says so', () => {
    const outcome = applied(rowsOf(9, 1), 8);
    assert.equal(outcome.rows.length, 1);
    assert.equal(outcome.meta['budget_overflow'], true);
    assert.equal(outcome.meta['budget_tokens_remaining'], 0);
    assert.equal(outcome.meta['memories_dropped'], 1);
  });

  it('takes no row behind one that is over, not even an empty one', () => {
    assert.equal(applied(rowsOf(9, 0), 8).rows.length, 1);
  });

  it('of 0 is an empty list', () => {
    const outcome = applied(rowsOf(0, 1), 0);
    assert.deepEqual(outcome.rows, []);
    assert.deepEqual(outcome.meta, {
      budget_tokens_used: 0,
      budget_tokens_remaining: 0,
      memories_dropped: 2,
      budget_overflow: false,
    });
  });

  it('that is absent keeps every row and needs no counts', () => {
    const rows = rowsOf(4, 7);
    const outcome = applyBudget(rows, null, []);
    assert.deepEqual(outcome, { rows, tokensUsed: 2, meta: {} });
  });

  it('keeps a longest beginning, and its figures agree', () => {
    const lengths = fc.array(fc.nat({ max: 20 }), { maxLength: 12 });
    fc.assert(
      fc.property(lengths, fc.nat({ max: 60 }), (sizes, budget) => {
        const rows = rowsOf(...sizes);
        const { rows: kept, tokensUsed, meta } = applied(rows, budget);
        assert.deepEqual(kept, rows.slice(0, kept.length), 'a beginning, in order');
        const sum = sizes.slice(0, kept.length).reduce((total, size) => total + size, 0);
        assert.equal(tokensUsed, sum);
        assert.equal(meta['budget_tokens_used'], sum);
        assert.equal(meta['budget_tokens_remaining'], Math.max(0, budget - sum));
        assert.equal(meta['memories_dropped'], sizes.length - kept.length);
        assert.equal(meta['budget_overflow'], sum > budget);
        if (sum > budget) assert.equal(kept.length, 1, 'only the first row may be over');
        if (budget > 0 && sizes.length > 0) assert.ok(kept.length > 0);
        const next = sizes[kept.length];
        if (budget > 0 && next !== undefined) assert.ok(sum + next > budget, 'the next row did not fit');
      }),
    );
  });
});
