import type { PeerParked, PeerProgress } from '../../../protocol/replication/peer-progress.js';
import type { PeerProgressAnswer } from '../../../protocol/replication/queries.js';
import type { QueryParts } from './query-parts.js';

type ProgressRow = Omit<PeerProgress, 'quarantined'> & { readonly quarantined: number };

/** What this node last saved about its deliveries. */
export function listPeerProgress({ statements }: QueryParts): PeerProgressAnswer {
  const progress = statements
    .get(
      `SELECT peer_id AS peerId, origin, acked, owed_to AS owedTo, attempts, quarantined, cause,
         first_failed_at_ms AS firstFailedAtMs, last_failed_at_ms AS lastFailedAtMs,
         next_try_at_ms AS nextTryAtMs, version
       FROM peer_progress ORDER BY peer_id`,
    )
    .all() as ProgressRow[];
  const parked = statements
    .get(
      `SELECT peer_id AS peerId, origin, seq, reason, noted_at_ms AS notedAtMs
       FROM peer_parked ORDER BY peer_id, origin, seq`,
    )
    .all() as PeerParked[];
  return { progress: progress.map((row) => ({ ...row, quarantined: row.quarantined === 1 })), parked };
}
