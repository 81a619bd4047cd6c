import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { calibrationOf, type Observed } from '../../../protocol/confidence/baselines.js';
import { CONFIDENCE_BASELINES_MAX } from '../../../protocol/confidence/limits.js';

const observed = (derived: number, more: Partial<Observed> = {}): Observed => ({
  ...{ namespace: 'a', source: 'api', stated: 1, derived },
  ...more,
});

describe('baselines', () => {
  it('are none without observations', () => {
    assert.deepEqual(calibrationOf([]), { total: 0, baselines: [], truncated: false });
  });

  it('have the median, the mean and the tenths of each namespace and source', () => {
    const { total, baselines, truncated } = calibrationOf([
      ...[0, 0.5, 0.55, 1].map((derived) => observed(derived)),
      observed(0.3, { source: 'cli', stated: 0.2 }),
      observed(0.4, { namespace: 'b', stated: 0.5 }),
    ]);
    assert.deepEqual([total, truncated], [6, false]);
    assert.deepEqual(baselines[0], {
      ...{ namespace: 'a', source: 'api', count: 4, median: 0.525, mean: 0.5125 },
      ...{ buckets: [1, 0, 0, 0, 0, 2, 0, 0, 0, 1], stated_median: 1, stated_mean: 1 },
    });
    assert.deepEqual(
      baselines.slice(1).map((one) => [one.namespace, one.source, one.median, one.stated_mean]),
      [
        ['a', 'cli', 0.3, 0.2],
        ['b', 'api', 0.4, 0.5],
      ],
    );
  });

  it('are told apart by names that look alike', () => {
    const { baselines } = calibrationOf([
      observed(0.1, { namespace: 'a","b', source: 'c' }),
      observed(0.1, { namespace: 'a', source: 'b","c' }),
    ]);
    assert.equal(baselines.length, 2);
  });

  it('are bounded, and then say so', () => {
    const many = Array.from({ length: CONFIDENCE_BASELINES_MAX + 1 }, (_, n) =>
      observed(0.1, { source: `s${n}` }),
    );
    const { total, baselines, truncated } = calibrationOf([...many, observed(0.1, { source: 's500' })]);
    assert.deepEqual([total, baselines.length, truncated], [502, CONFIDENCE_BASELINES_MAX, true]);
    assert.equal(baselines[0]!.source, 's500');
  });
});
