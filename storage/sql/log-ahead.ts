import { HLC_ZERO, latestHlc } from '../../protocol/base/hlc.js';
import type { Hlc, PeerId } from '../../protocol/base/meanings.js';
import type { LogAhead } from '../../protocol/replication/reads.js';
import type { Connection } from './connection.js';

/**
 * The ends of a node's origins that are stamped too far ahead for other nodes, the oldest first. Histories that were set
 * aside have a `!` in their name and stay.
 */
export function tailsAhead(db: Connection, peerId: PeerId, nowMs: number): LogAhead['tails'] {
  return db
    .prepare(
      `SELECT origin, min(origin_seq) - 1 AS keep, max(origin_seq) - min(origin_seq) + 1 AS operations
       FROM operations WHERE hlc > ? AND substr(origin, 1, instr(origin, '/') - 1) = ? AND instr(origin, '!') = 0
       GROUP BY origin ORDER BY min(commit_sequence)`,
    )
    .all(latestHlc(nowMs), peerId) as LogAhead['tails'][number][];
}

/** The last stamp in the log that other nodes take. */
export function lastStampTaken(db: Connection, nowMs: number): Hlc {
  const last = db.prepare('SELECT max(hlc) FROM operations WHERE hlc <= ?').pluck().get(latestHlc(nowMs));
  return (last as Hlc | null) ?? HLC_ZERO;
}
