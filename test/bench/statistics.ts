/** Percentiles of one measurement, in the unit of its samples. */
export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

/** The smallest sample that at least `share` of all samples do not exceed. Samples ascend; NaN when there are none. */
export function nearestRank(ascending: ArrayLike<number>, share: number): number {
  const rank = Math.ceil(share * ascending.length);
  return ascending[Math.max(rank, 1) - 1] ?? Number.NaN;
}

/** Linear interpolation on rank share·(n-1) (reference-federation §3.4). Samples ascend; NaN when there are none. */
export function interpolated(ascending: ArrayLike<number>, share: number): number {
  const rank = share * (ascending.length - 1);
  const below = ascending[Math.floor(rank)] ?? Number.NaN;
  const above = ascending[Math.ceil(rank)] ?? Number.NaN;
  return below + (above - below) * (rank - Math.floor(rank));
}

/** Percentiles of samples in any order. */
export function percentiles(
  samples: readonly number[],
  rule: (ascending: ArrayLike<number>, share: number) => number = nearestRank,
): Percentiles {
  const ascending = Float64Array.from(samples).sort();
  return {
    p50: rule(ascending, 0.5),
    p95: rule(ascending, 0.95),
    p99: rule(ascending, 0.99),
    max: ascending.at(-1) ?? Number.NaN,
  };
}

/** Rounds to `digits` decimals, for JSON that people read too. */
export const rounded = (value: number, digits = 2): number =>
  Number.isFinite(value) ? Math.round(value * 10 ** digits) / 10 ** digits : 0;
