/** An observation of a fit. */
export interface Observation {
  readonly features: readonly number[];
  readonly right: boolean;
  readonly weight: number;
}

const ROUNDS = 30;

/** Keeps weights small that the observations say little about. */
const RIDGE = 1e-3;

export const chanceOf = (weights: readonly number[], features: readonly number[]): number =>
  1 / (1 + Math.exp(-features.reduce((sum, feature, at) => sum + feature * weights[at]!, 0)));

/** The weights of the logistic model with the greatest likelihood, by Newton's method; the ridge spares the first. */
export function fitLogistic(observations: readonly Observation[]): number[] {
  const size = observations[0]?.features.length ?? 0;
  const total = observations.reduce((sum, { weight }) => sum + weight, 0);
  let weights = new Array<number>(size).fill(0);
  for (let round = 0; round < ROUNDS; round += 1) {
    const gradient = weights.map((weight, at) => (at === 0 ? 0 : -RIDGE * total * weight));
    const hessian = weights.map((_, row) =>
      weights.map((__, column) => (row === column ? (row === 0 ? 1e-9 : RIDGE) * total : 0)),
    );
    for (const { features, right, weight } of observations) {
      const guess = chanceOf(weights, features);
      const error = weight * ((right ? 1 : 0) - guess);
      const slope = weight * guess * (1 - guess);
      for (const [row, feature] of features.entries()) {
        gradient[row]! += error * feature;
        for (const [column, other] of features.entries()) hessian[row]![column]! += slope * feature * other;
      }
    }
    const step = solve(hessian, gradient);
    weights = weights.map((weight, at) => weight + step[at]!);
    if (Math.max(...step.map(Math.abs)) < 1e-6) break;
  }
  return weights;
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
