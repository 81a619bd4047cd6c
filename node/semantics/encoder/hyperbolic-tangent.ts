const LN2_HIGH = 0.6931471803691238;
const LN2_LOW = 1.9082149292705877e-10;
/** 1/n! for n from 13 down to 0. */
const TERMS = Array.from({ length: 14 }, (_, index) => 13 - index).map((n) => {
  let product = 1;
  for (let factor = 2; factor <= n; factor += 1) product *= factor;
  return 1 / product;
});

/** tanh, to about 15 digits. `Math.tanh` may differ from engine to engine; sums and products do not. */
export function hyperbolicTangent(x: number): number {
  const size = Math.abs(x);
  if (size > 20) return Math.sign(x);
  // e^(-2 size) = 2^-k e^r, with r within half of ln 2.
  const exponent = -2 * size;
  const k = Math.round(exponent / (LN2_HIGH + LN2_LOW));
  const r = exponent - k * LN2_HIGH - k * LN2_LOW;
  let power = 0;
  for (const term of TERMS) power = power * r + term;
  for (let halvings = k; halvings < 0; halvings += 1) power /= 2;
  const value = (1 - power) / (1 + power);
  return x < 0 ? -value : value;
}
