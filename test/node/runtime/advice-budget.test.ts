import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AdviceBudget } from '../../../node/runtime/advice-budget.js';
import { systemScheduler } from '../../../node/seams.js';
import {
  POTENTIAL_CONTRADICTIONS_BURST_MAX,
  POTENTIAL_CONTRADICTIONS_PER_SECOND,
} from '../../../protocol/base/limits.js';

describe('the budget of advice', () => {
  const budgetAt = (clock: { ms: number }) =>
    new AdviceBudget({ monotonicMs: () => clock.ms }, systemScheduler);
  const stores = (budget: AdviceBudget, count: number) =>
    Array.from({ length: count }, () => {
      const room = budget.begin();
      budget.end();
      return room;
    }).filter((room) => room).length;

  it('is for a store that is alone', () => {
    const budget = budgetAt({ ms: 0 });
    assert.deepEqual([budget.begin(), budget.begin(), budget.begin()], [true, false, false]);
    budget.end();
    budget.end();
    assert.equal(budget.begin(), false);
    budget.end();
    budget.end();
    assert.equal(budget.begin(), true);
  });

  it('is spent by a load and refills with time, never beyond its size', () => {
    const clock = { ms: 5 };
    const budget = budgetAt(clock);
    assert.equal(stores(budget, 10_000), POTENTIAL_CONTRADICTIONS_BURST_MAX);
    clock.ms += 1000;
    assert.equal(stores(budget, 10_000), POTENTIAL_CONTRADICTIONS_PER_SECOND);
    clock.ms += 3_600_000;
    assert.equal(stores(budget, 10_000), POTENTIAL_CONTRADICTIONS_BURST_MAX);
  });

  it('bounds what a look beside a store may take', async () => {
    const budget = budgetAt({ ms: 0 });
    assert.equal(await budget.within(Promise.resolve('found'), 1000), 'found');
    assert.equal(await budget.within(new Promise(() => undefined), 1), null);
    await assert.rejects(budget.within(Promise.reject(new Error('broken')), 1000), /broken/);
  });
});
