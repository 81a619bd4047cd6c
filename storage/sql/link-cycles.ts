import type { LinkKey, Relation } from '../../protocol/links/link.js';
import type { Connection } from './connection.js';

interface Step {
  readonly target_id: string;
  readonly relation: string;
  readonly retired_at: string | null;
}

/** Finds the cycles that a new link would close, and what leads to a memory. */
export class LinkCycles {
  private readonly from;
  private readonly to;
  private readonly at;

  constructor(db: Connection) {
    this.from = db.prepare<[string, number], Step>(
      'SELECT target_id, relation, retired_at FROM memory_links WHERE source_id = ? LIMIT ?',
    );
    this.to = db.prepare<[string, string, number], { source_id: string }>(
      `SELECT source_id FROM memory_links WHERE target_id = ? AND relation = ? AND retired_at IS NULL
       ORDER BY source_id LIMIT ?`,
    );
    this.at = db.prepare<[{ memoryId: string; limit: number }], { n: number }>(
      `SELECT count(*) AS n FROM (
         SELECT 1 FROM memory_links WHERE source_id = @memoryId AND retired_at IS NULL
         UNION ALL SELECT 1 FROM memory_links WHERE target_id = @memoryId AND retired_at IS NULL LIMIT @limit)`,
    );
  }

  /** How many links that were not invalidated lead from or to a memory, up to a limit. */
  count({ memoryId, limit }: { readonly memoryId: string; readonly limit: number }): number {
    return this.at.get({ memoryId, limit })!.n;
  }

  /** The memories from which links of a relation that were not invalidated lead to a memory, by id. */
  sourcesOf(asked: { readonly targetId: string; readonly relation: Relation; readonly limit: number }) {
    const { targetId, relation, limit } = asked;
    return this.to.all(targetId, relation, limit).map(({ source_id }) => source_id);
  }

  /**
   * Whether links of the same relation that were not invalidated lead from the target of a link to its source; unknown when
   * more than `rowsMax` links would have to be looked at.
   */
  leadsBack({ source_id, target_id, relation }: LinkKey, rowsMax: number): 'yes' | 'no' | 'unknown' {
    const reached = new Set([target_id]);
    let left = rowsMax;
    for (const id of reached) {
      const steps = this.from.all(id, left + 1);
      for (const step of steps) {
        if (step.relation !== relation || step.retired_at !== null) continue;
        if (step.target_id === source_id) return 'yes';
        reached.add(step.target_id);
      }
      left -= steps.length;
      if (left < 0) return 'unknown';
    }
    return 'no';
  }
}
