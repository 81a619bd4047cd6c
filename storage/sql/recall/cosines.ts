import type { UnrelatedTexts, VectorEvidence } from '../../../protocol/memory/recall-request.js';
import type { Connection } from '../connection.js';
import { statement } from './statements.js';

const FLOAT_BYTES = 4;

function floatsOf(blob: Buffer): Float32Array {
  const count = Math.floor(blob.byteLength / FLOAT_BYTES);
  if (blob.byteOffset % FLOAT_BYTES === 0) {
    return new Float32Array(blob.buffer, blob.byteOffset, count);
  }
  const copy = new Uint8Array(count * FLOAT_BYTES);
  copy.set(blob.subarray(0, copy.length));
  return new Float32Array(copy.buffer);
}

/** The best cosine of the vectors of one row (unit length, little-endian float32, concatenated). */
export function bestCosine(query: Float32Array, blob: Buffer): number {
  const vectors = floatsOf(blob);
  const dimension = query.length;
  let best = Number.NEGATIVE_INFINITY;
  for (let start = 0; start + dimension <= vectors.length; start += dimension) {
    let dot = 0;
    for (let index = 0; index < dimension; index++) {
      dot += (query[index] ?? 0) * (vectors[start + index] ?? 0);
    }
    if (dot > best) best = dot;
  }
  return best;
}

/** Of an encoder of which nothing is known. */
const ASSUMED: UnrelatedTexts = { mean: 0.2, deviation: 0.12, rows: 20 };

/** Cosines of rows in standard deviations: those that the vector index reported, and others that it reads itself. */
export class CosineReader {
  readonly #database: Connection;
  readonly #evidence: VectorEvidence;
  readonly #known = new Map<number, number>();
  readonly #deviation: number;

  constructor(database: Connection, evidence: VectorEvidence) {
    this.#database = database;
    this.#evidence = evidence;
    this.#deviation = evidence.deviation > 1e-6 ? evidence.deviation : 1;
    for (const hit of evidence.hits) this.#known.set(hit.rid, hit.cosine);
  }

  /** Reads unknown cosines; a row without a vector of the query's dimension stays unknown. */
  read(rids: readonly number[]): void {
    const missing = rids.filter((rid) => !this.#known.has(rid));
    if (missing.length === 0) return;
    const rows = statement(
      this.#database,
      `SELECT embedding.rid, embedding.vectors FROM json_each(?) AS listed
       CROSS JOIN memory_embeddings AS embedding ON embedding.rid = CAST(listed.value AS INTEGER) WHERE embedding.dim = ?`,
      'raw',
    ).all(`[${missing.join(',')}]`, this.#evidence.queryVector.length) as [number, Buffer][];
    for (const [rid, blob] of rows) {
      const cosine = bestCosine(this.#evidence.queryVector, blob);
      if (Number.isFinite(cosine)) this.#known.set(rid, cosine);
    }
  }

  /** Standard deviations from the mean, bounded so that one extreme vector cannot lead; null without a vector. */
  deviations(rid: number): number | null {
    const cosine = this.#known.get(rid);
    if (cosine === undefined || !Number.isFinite(cosine)) return null;
    return Math.min(6, Math.max(-3, (cosine - this.#evidence.mean) / this.#deviation));
  }

  /**
   * How far a row stands out: 1 for what the nearest of so many unrelated rows would have, however many there are; null
   * without a vector.
   */
  standing(rid: number): number | null {
    const cosine = this.#known.get(rid);
    if (cosine === undefined || !Number.isFinite(cosine)) return null;
    const { mean, deviation, scanned, unrelated = ASSUMED } = this.#evidence;
    const rows = scanned + unrelated.rows;
    const assumed = unrelated.rows / rows;
    const center = mean + assumed * (unrelated.mean - mean);
    const spread = Math.max(1e-3, deviation + assumed * (unrelated.deviation - deviation));
    const nearest = Math.sqrt(2 * Math.log(rows));
    return Math.min(3, Math.max(-1, (cosine - center) / spread / nearest));
  }
}
