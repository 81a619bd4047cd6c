import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type BackoffPolicy, backoffDelayMs, nextAttempt } from '../../../actors/core/backoff.js';
import fc from '../../support/properties.js';

const policy: BackoffPolicy = { initialMs: 100, maxMs: 5000, jitter: 0.5, stableMs: 60_000 };

describe('back-off', () => {
  it('doubles up to its cap', () => {
    const delays = [0, 1, 2, 3, 4, 5, 6, 7].map((attempt) => backoffDelayMs(policy, attempt, 0));
    assert.deepEqual(delays, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
  });

  it('takes away no more than its share of jitter and never exceeds the cap', () => {
    const anyPolicy = fc.record({
      initialMs: fc.nat(10_000),
      factor: fc.integer({ min: 1, max: 10 }),
      maxMs: fc.integer({ min: 1, max: 600_000 }),
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
      stableMs: fc.nat(1000),
    });
    const unit = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(anyPolicy, fc.nat(5000), unit, (each, attempt, draw) => {
        const full = backoffDelayMs({ ...each, jitter: 0 }, attempt, draw);
        const delayMs = backoffDelayMs(each, attempt, draw);
        assert.ok(Number.isInteger(delayMs) && delayMs >= 0 && delayMs <= each.maxMs);
        assert.ok(delayMs <= full && delayMs >= Math.floor(full * (1 - each.jitter)));
      }),
    );
  });

  it('begins again after a stable time', () => {
    assert.equal(nextAttempt(policy, 5, 59_999), 6);
    assert.equal(nextAttempt(policy, 5, 60_000), 0);
  });
});
