import type { RecallConsumption, RecallObservation } from '../../protocol/commands.js';
import { OBSERVATION_ROWS_MAX } from '../../protocol/limits.js';
import type { Connection } from './connection.js';

/**
 * Writes the ledger of recalls. Row numbers rise with time, so the oldest rows have the lowest and both bounds of the
 * ledger are taken from that end, without counting.
 */
export class ObservationLedger {
  private readonly statements;

  constructor(
    db: Connection,
    private readonly rowsMax = OBSERVATION_ROWS_MAX,
  ) {
    this.statements = {
      record: db.prepare(
        `INSERT OR IGNORE INTO recall_observations (recall_id, memory_id, agent_id, retriever, rank, score, observed_at)
         VALUES (?, ?, ?, ?, ?, ?, ?)`,
      ),
      bound: db.prepare(
        'DELETE FROM recall_observations WHERE rowid <= (SELECT max(rowid) FROM recall_observations) - ?',
      ),
      consume: db.prepare(
        `UPDATE recall_observations SET consumed = 1, consumed_at = ?, consumed_by_memory_id = ?
         WHERE recall_id = ? AND consumed = 0 AND agent_id = ?`,
      ),
      consumeAny: db.prepare(
        `UPDATE recall_observations SET consumed = 1, consumed_at = ?, consumed_by_memory_id = ?
         WHERE recall_id = ? AND consumed = 0`,
      ),
      prune: db.prepare(
        `DELETE FROM recall_observations WHERE rowid <= (SELECT max(oldest.rowid) FROM
           (SELECT rowid, observed_at FROM recall_observations ORDER BY rowid LIMIT ?) AS oldest
         WHERE oldest.observed_at < ?)`,
      ),
    };
  }

  record({ recallId, agentId, retriever, observedAt, memoryIds, scores }: RecallObservation): void {
    // Last rank first: whoever reads backwards from the newest row finds the best rank first.
    for (let index = memoryIds.length - 1; index >= 0; index -= 1) {
      const [id, score] = [memoryIds[index], scores[index]];
      this.statements.record.run(recallId, id, agentId, retriever, index + 1, score, observedAt);
    }
    this.statements.bound.run(this.rowsMax);
  }

  /** The first memory that a recall led to is the one that is kept. */
  consume({ recallId, agentId, memoryId, consumedAt }: RecallConsumption): void {
    if (agentId === null) this.statements.consumeAny.run(consumedAt, memoryId, recallId);
    else this.statements.consume.run(consumedAt, memoryId, recallId, agentId);
  }

  /** Removes rows observed before an instant, looking at the oldest `limit`. */
  prune(before: string, limit: number): void {
    this.statements.prune.run(limit, before);
  }
}
