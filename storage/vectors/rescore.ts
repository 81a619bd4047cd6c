/** A memory that the int8 scan found. */
export interface Candidate {
  readonly rid: number;
  readonly cosine: number;
  /** The value of one int8 step of the row. */
  readonly step: number;
}

/**
 * Reads the float32 chunk vectors of memories, concatenated. Removed and hidden memories are absent from the answer.
 */
export type LoadVectors = (rids: readonly number[]) => ReadonlyMap<number, Float32Array>;

/** Memories compared in float32: this many, or a multiple of the results asked for. */
const RESCORED_MIN = 40;
const RESCORED_PER_RESULT = 2;
/**
 * A rounding error is uniform over one step, so over a unit query the error of a cosine has a standard deviation of
 * step / √12 in any dimension; 1.25 steps are more than four of them.
 */
const ERROR_STEPS = 1.25;

/** The same direction with length 1; a zero vector stays zero. */
export function unitVector(vector: Float32Array): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const factor = squares > 0 ? 1 / Math.sqrt(squares) : 0;
  return vector.map((value) => value * factor);
}

/**
 * The best `k` of the candidates (sorted, best first) by their float32 cosine. It continues while an unread candidate
 * could still belong to the best `k`, or while it has fewer than `k`.
 */
export function rescore(
  query: Float32Array,
  candidates: readonly Candidate[],
  k: number,
  loadVectors: LoadVectors,
): { rid: number; cosine: number }[] {
  let hits: { rid: number; cosine: number }[] = [];
  for (let from = 0; from < candidates.length; ) {
    const next = candidates[from]!;
    const worst = hits[k - 1];
    if (worst !== undefined && next.cosine + ERROR_STEPS * next.step < worst.cosine) break;
    const count = from === 0 ? Math.max(RESCORED_MIN, k * RESCORED_PER_RESULT) : RESCORED_MIN;
    const rids = candidates.slice(from, from + count).map((candidate) => candidate.rid);
    from += rids.length;
    const loaded = loadVectors(rids);
    for (const rid of rids) {
      const vectors = loaded.get(rid);
      if (vectors !== undefined) hits.push({ rid, cosine: bestCosine(query, vectors) });
    }
    hits = hits.sort((left, right) => right.cosine - left.cosine || left.rid - right.rid).slice(0, k);
  }
  return hits;
}

/** The highest cosine between a unit query and any of the concatenated vectors. */
export function bestCosine(query: Float32Array, vectors: Float32Array): number {
  let best = Number.NEGATIVE_INFINITY;
  for (let from = 0; from + query.length <= vectors.length; from += query.length) {
    let dot = 0;
    let squares = 0;
    for (let index = 0; index < query.length; index += 1) {
      const value = vectors[from + index]!;
      dot += query[index]! * value;
      squares += value * value;
    }
    if (squares > 0) best = Math.max(best, dot / Math.sqrt(squares));
  }
  return best;
}
