import { OBSERVATIONS_MAX } from '../../protocol/base/limits.js';
import type { RecallConsumption, RecallObservation } from '../../protocol/memory/recall-ledger.js';
import type { Connection } from './connection.js';

/**
 * Writes the ledger of recalls, one row for each. Row numbers grow with time, so the oldest rows have the lowest, and
 * both bounds of the ledger remove rows from that end without counting.
 */
export class ObservationLedger {
  private readonly statements;

  constructor(
    db: Connection,
    private readonly recallsMax = OBSERVATIONS_MAX,
  ) {
    this.statements = {
      record: db.prepare<[string, string, string, string, string], { seq: number }>(
        `INSERT INTO recall_observations (recall_id, agent_id, retriever, observed_at, memories)
         VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING seq`,
      ),
      bound: db.prepare<[number]>('DELETE FROM recall_observations WHERE seq <= ?'),
      consume: db.prepare(
        `UPDATE recall_observations SET consumed_at = ?, consumed_by_memory_id = ?
         WHERE recall_id = ? AND consumed_at IS NULL AND agent_id = ?`,
      ),
      consumeAny: db.prepare(
        `UPDATE recall_observations SET consumed_at = ?, consumed_by_memory_id = ?
         WHERE recall_id = ? AND consumed_at IS NULL`,
      ),
      prune: db.prepare(
        `DELETE FROM recall_observations WHERE seq <= (SELECT max(oldest.seq) FROM
           (SELECT seq, observed_at FROM recall_observations ORDER BY seq LIMIT ?) AS oldest
         WHERE oldest.observed_at < ?)`,
      ),
    };
  }

  record({ recallId, agentId, retriever, observedAt, memoryIds, scores }: RecallObservation): void {
    const memories = JSON.stringify(memoryIds.map((id, index) => [id, scores[index]]));
    const added = this.statements.record.get(recallId, agentId, retriever, observedAt, memories);
    if (added === undefined) return;
    const lowest = added.seq - this.recallsMax;
    if (lowest > 0) this.statements.bound.run(lowest);
  }

  /** Keeps only the first memory that a recall led to. */
  consume({ recallId, agentId, memoryId, consumedAt }: RecallConsumption): void {
    if (agentId === null) this.statements.consumeAny.run(consumedAt, memoryId, recallId);
    else this.statements.consume.run(consumedAt, memoryId, recallId, agentId);
  }

  /** Removes observations from before an instant, examining the oldest `limit`. */
  prune(before: string, limit: number): void {
    this.statements.prune.run(limit, before);
  }
}
