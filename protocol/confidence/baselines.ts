import { CONFIDENCE_BASELINES_MAX } from './limits.js';
import type { Baseline, Calibration } from './queries.js';

/** An observation with what its memory says now. */
export interface Observed {
  readonly namespace: string;
  readonly source: string;
  readonly stated: number;
  readonly derived: number;
}

/** Observations by namespace and source. */
export function calibrationOf(observed: Iterable<Observed>): Calibration {
  const groups = new Map<string, Observed[]>();
  let total = 0;
  for (const one of observed) {
    total += 1;
    const key = JSON.stringify([one.namespace, one.source]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [one]);
    else group.push(one);
  }
  const baselines = [...groups.values()].map(baselineOf).sort(byCount);
  return {
    total,
    baselines: baselines.slice(0, CONFIDENCE_BASELINES_MAX),
    truncated: baselines.length > CONFIDENCE_BASELINES_MAX,
  };
}

function baselineOf(group: readonly Observed[]): Baseline {
  const { namespace, source } = group[0]!;
  const derived = group.map((one) => one.derived).sort((a, b) => a - b);
  const stated = group.map((one) => one.stated).sort((a, b) => a - b);
  const buckets = Array.from({ length: BUCKETS }, () => 0);
  for (const value of derived) buckets[Math.min(BUCKETS - 1, Math.floor(value * BUCKETS))]! += 1;
  return {
    ...{ namespace, source, count: group.length },
    ...{ median: medianOf(derived), mean: meanOf(derived), buckets },
    ...{ stated_median: medianOf(stated), stated_mean: meanOf(stated) },
  };
}

const BUCKETS = 10;

/** Of a list in rising order. */
function medianOf(values: readonly number[]): number {
  const middle = values.length / 2;
  const upper = values[Math.floor(middle)]!;
  return rounded(Number.isInteger(middle) ? (values[middle - 1]! + upper) / 2 : upper);
}

const meanOf = (values: readonly number[]): number =>
  rounded(values.reduce((sum, value) => sum + value, 0) / values.length);

const rounded = (value: number): number => Math.round(value * 10_000) / 10_000;

function byCount(a: Baseline, b: Baseline): number {
  if (a.count !== b.count) return b.count - a.count;
  if (a.namespace !== b.namespace) return a.namespace < b.namespace ? -1 : 1;
  return a.source < b.source ? -1 : 1;
}
