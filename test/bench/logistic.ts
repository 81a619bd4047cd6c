/** An observation of a fit. */
export interface Observation {
  readonly features: readonly number[];
  readonly right: boolean;
  readonly weight: number;
}

const ROUNDS = 15;

export const chanceOf = (weights: readonly number[], features: readonly number[]): number =>
  1 / (1 + Math.exp(-features.reduce((sum, feature, at) => sum + feature * weights[at]!, 0)));

/**
 * The weights of the logistic model with the greatest likelihood, by Newton's method from `start`. The ridge keeps weights small
 * that the observations say little about; it spares the first.
 */
export function fitLogistic(
  observations: readonly Observation[],
  ridge: number,
  start?: readonly number[],
): number[] {
  const size = observations[0]?.features.length ?? 0;
  const total = observations.reduce((sum, { weight }) => sum + weight, 0);
  const rows = observations.map(({ features, right, weight }) => ({
    features: Float64Array.from(features),
    ...{ right: right ? 1 : 0, weight },
  }));
  let weights = Float64Array.from({ length: size }, (_, at) => start?.[at] ?? 0);
  for (let round = 0; round < ROUNDS; round += 1) {
    const gradient = weights.map((weight, at) => (at === 0 ? 0 : -ridge * total * weight));
    const hessian = Array.from({ length: size }, (_, at) => {
      const row = new Float64Array(size);
      row[at] = (at === 0 ? 1e-9 : ridge) * total;
      return row;
    });
    for (const row of rows) addObservation(row, weights, gradient, hessian);
    const full = hessian.map((row, at) =>
      row.map((value, column) => (column < at ? hessian[column]![at]! : value)),
    );
    const step = solve(
      full.map((row) => [...row]),
      [...gradient],
    );
    weights = weights.map((weight, at) => weight + step[at]!);
    if (Math.max(...step.map(Math.abs)) < 1e-4) break;
  }
  return [...weights];
}

/** Adds what one observation says of the weights; of the symmetric matrix only the upper half. */
function addObservation(
  { features, right, weight }: { features: Float64Array; right: number; weight: number },
  weights: Float64Array,
  gradient: Float64Array,
  hessian: readonly Float64Array[],
): void {
  const size = features.length;
  let sum = 0;
  for (let at = 0; at < size; at++) sum += features[at]! * weights[at]!;
  const guess = 1 / (1 + Math.exp(-sum));
  const error = weight * (right - guess);
  const slope = weight * guess * (1 - guess);
  for (let at = 0; at < size; at++) {
    gradient[at]! += error * features[at]!;
    const scaled = slope * features[at]!;
    const row = hessian[at]!;
    for (let column = at; column < size; column++) row[column]! += scaled * features[column]!;
  }
}

/** Solves a small system of linear equations by elimination. */
function solve(matrix: readonly (readonly number[])[], right: readonly number[]): number[] {
  const rows = matrix.map((row, at) => [...row, right[at]!]);
  for (let pivot = 0; pivot < rows.length; pivot += 1) {
    let best = pivot;
    for (let row = pivot + 1; row < rows.length; row += 1) {
      if (Math.abs(rows[row]![pivot]!) > Math.abs(rows[best]![pivot]!)) best = row;
    }
    [rows[pivot], rows[best]] = [rows[best]!, rows[pivot]!];
    for (let row = 0; row < rows.length; row += 1) {
      if (row === pivot) continue;
      const factor = rows[row]![pivot]! / rows[pivot]![pivot]!;
      for (let at = pivot; at <= rows.length; at += 1) rows[row]![at]! -= factor * rows[pivot]![at]!;
    }
  }
  return rows.map((row, at) => row[rows.length]! / row[at]!);
}
