import type { Origin } from './meanings.js';
/**
 * The operations that a version of a row has seen: the highest sequence of each origin (`<peer_id>/<db_epoch>`) whose
 * writes it includes (design: mesh, "The operation log").
 */
export type VersionVector = Readonly<Record<string, number>>;

/** The vector plus one write. */
export function withWrite(seen: VersionVector, origin: Origin, seq: number): VersionVector {
  return { ...seen, [origin]: seq };
}

/** True when the vector includes the write `seq` of an origin. */
export function includes(vector: VersionVector, origin: Origin, seq: number): boolean {
  return (vector[origin] ?? 0) >= seq;
}

/** The smallest vector that includes all given vectors. */
export function joined(vectors: Iterable<VersionVector>): VersionVector {
  const join: Record<string, number> = {};
  for (const vector of vectors) {
    for (const [origin, seq] of Object.entries(vector))
      join[origin] = Object.hasOwn(join, origin) ? Math.max(join[origin]!, seq) : seq;
  }
  return join;
}

export function sameVector(a: VersionVector, b: VersionVector): boolean {
  const origins = Object.keys(a);
  return origins.length === Object.keys(b).length && origins.every((origin) => a[origin] === b[origin]);
}
