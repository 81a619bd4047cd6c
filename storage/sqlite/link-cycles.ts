import type { LinkKey } from '../../protocol/graph/link.js';
import type { Connection } from './connection.js';

interface Step {
  readonly target_id: string;
  readonly relation: string;
  readonly retired_at: string | null;
}

/** Finds the cycles that a new link would close. */
export class LinkCycles {
  private readonly from;

  constructor(db: Connection) {
    this.from = db.prepare<[string, number], Step>(
      'SELECT target_id, relation, retired_at FROM memory_links WHERE source_id = ? LIMIT ?',
    );
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
