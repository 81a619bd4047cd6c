import type { SavePeerProgress } from '../../protocol/replication/peer-progress.js';
import type { Connection } from './connection.js';
import { upsert } from './upsert.js';

/** Writes what this node knows about its deliveries to each peer. */
export class PeerLedger {
  private readonly statements;

  constructor(db: Connection) {
    this.statements = {
      progress: db.prepare(
        upsert(
          'peer_progress',
          ['peer_id'],
          ['peer_id', 'origin', 'acked', 'owed_to', 'attempts', 'quarantined', 'cause'].concat([
            'first_failed_at_ms',
            'last_failed_at_ms',
            'next_try_at_ms',
            'version',
          ]),
        ),
      ),
      park: db.prepare(
        upsert(
          'peer_parked',
          ['peer_id', 'origin', 'seq'],
          ['peer_id', 'origin', 'seq', 'reason', 'noted_at_ms'],
        ),
      ),
      settle: db.prepare('DELETE FROM peer_parked WHERE peer_id = ? AND origin = ? AND seq = ?'),
    };
  }

  save({ progress, parked, settled }: SavePeerProgress): void {
    for (const each of progress) {
      this.statements.progress.run(
        each.peerId,
        each.origin,
        each.acked,
        each.owedTo,
        each.attempts,
        each.quarantined ? 1 : 0,
        each.cause,
        each.firstFailedAtMs,
        each.lastFailedAtMs,
        each.nextTryAtMs,
        each.version,
      );
    }
    for (const each of parked) {
      this.statements.park.run(each.peerId, each.origin, each.seq, each.reason, each.notedAtMs);
    }
    for (const each of settled) this.statements.settle.run(each.peerId, each.origin, each.seq);
  }
}
