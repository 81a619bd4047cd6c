import type { Origin } from '../../protocol/base/meanings.js';
import { instantFromMs } from '../../protocol/base/time.js';
import type { Changing } from '../../protocol/decide/mutations.js';
import type { Subject } from '../../protocol/kinds/kind.js';
import type { Dot } from '../../protocol/kinds/version.js';
import { operationId } from '../../protocol/log/operation-log.js';
import type { recordConflict } from '../../protocol/replication/mutations.js';
import type { UsedNonce } from '../../protocol/replication/used-nonce.js';
import type { Connection } from './connection.js';

/** The tables that replication needs in addition to the log: concurrent versions, conflicts and nonces. */
export class ReplicaRows {
  private readonly statements;

  constructor(db: Connection) {
    this.statements = {
      dropSiblings: db.prepare('DELETE FROM siblings WHERE kind = ? AND subject = ?'),
      addSibling: db.prepare('INSERT INTO siblings (kind, subject, origin, origin_seq) VALUES (?, ?, ?, ?)'),
      addConflict: db.prepare(
        `INSERT INTO conflicts (origin, origin_seq, kind, subject, namespace, winner) VALUES (?, ?, ?, ?, ?, ?)
         ON CONFLICT DO NOTHING`,
      ),
      dropConflicts: db.prepare('DELETE FROM conflicts WHERE kind = ? AND subject = ?'),
      dropNonces: db.prepare('DELETE FROM federation_nonce_cache WHERE last_touch < ?'),
      addNonce: db.prepare(
        'INSERT INTO federation_nonce_cache (peer_id, fingerprint, last_touch, inserted_at) VALUES (?, ?, ?, ?)',
      ),
      park: db.prepare(
        "UPDATE operations SET parked = 'elsewhere' WHERE origin = ? AND origin_seq = ? AND payload IS NULL",
      ),
      unpark: db.prepare('UPDATE operations SET parked = NULL WHERE origin = ? AND origin_seq = ?'),
    };
  }

  /** Stores the concurrent versions of a subject; a single version needs no list. */
  keepSiblings(kind: string, subject: string, siblings: readonly Dot[]): void {
    this.statements.dropSiblings.run(kind, subject);
    for (const { origin, seq } of siblings) this.statements.addSibling.run(kind, subject, origin, seq);
  }

  recordConflict(mutation: Changing<typeof recordConflict>): void {
    const { kind, loser, winner, subject, namespace } = mutation;
    const by = operationId(winner.origin, winner.seq);
    this.statements.addConflict.run(loser.origin, loser.seq, kind, subject, namespace, by);
  }

  forgetConflicts({ kind, id }: Subject): void {
    this.statements.dropConflicts.run(kind, id);
  }

  /** `last_touch` is when the nonce may be deleted. */
  useNonce({ peerId, fingerprint, usedAtMs, keepUntilMs }: UsedNonce, nowMs: number): void {
    this.statements.dropNonces.run(nowMs);
    const bytes = Buffer.from(fingerprint, 'hex');
    this.statements.addNonce.run(peerId, bytes, keepUntilMs, instantFromMs(usedAtMs));
  }

  /** Notes that an operation's subject is now out of this node's scope. */
  parkElsewhere(origin: Origin, seq: number): void {
    this.statements.park.run(origin, seq);
  }

  unpark(origin: Origin, seq: number): void {
    this.statements.unpark.run(origin, seq);
  }
}
