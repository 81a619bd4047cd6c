/**
 * What a version of a row has seen: the highest sequence of each origin (`<peer_id>/<db_epoch>`) whose writes it
 * includes (design: mesh, "The operation log").
 */
export type VersionVector = Readonly<Record<string, number>>;

/** The vector plus one write. */
export function withWrite(seen: VersionVector, origin: string, seq: number): VersionVector {
  return { ...seen, [origin]: seq };
}
