/** A small deterministic generator (xorshift32) of numbers in [0, 1). */
export function generator(seed: number): () => number {
  let state = seed | 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

/** Unit vectors with normally distributed coordinates, one after the other. */
export function randomVectors(count: number, dim: number, random: () => number): Float32Array {
  const vectors = new Float32Array(count * dim);
  for (let row = 0; row < count; row += 1) {
    let squares = 0;
    for (let index = 0; index < dim; index += 1) {
      const value = random() + random() + random() + random() - 2;
      vectors[row * dim + index] = value;
      squares += value * value;
    }
    const factor = 1 / Math.sqrt(squares);
    for (let index = 0; index < dim; index += 1) vectors[row * dim + index]! *= factor;
  }
  return vectors;
}

/** Cosine of two unit vectors in plain float64 arithmetic. */
export function dot(left: Float32Array, right: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < left.length; index += 1) sum += left[index]! * right[index]!;
  return sum;
}
