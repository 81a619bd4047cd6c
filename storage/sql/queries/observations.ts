import type { RecallObservations } from '../../../protocol/memory/queries.js';
import type { ObservationJson } from '../../../protocol/memory/recall-ledger.js';
import type { Answers } from '../../../protocol/release.js';
import { visibleRows } from '../visibility.js';
import type { QueryParts } from './query-parts.js';

interface ObservationRow extends Omit<ObservationJson, 'consumed' | 'consumed_at' | 'consumed_by_memory_id'> {
  readonly consumed_at: string | null;
  readonly consumed_by_memory_id: string | null;
}

/**
 * The ledger of recalls, newest first, with an entry for each memory, best first: recalls of one agent or of all
 * agents, with the memories that the viewer may see now. The memory that a recall led to is named only when the viewer
 * may see that memory too.
 */
export function recallObservations(
  { statements }: QueryParts,
  query: RecallObservations,
): Answers['recall-observations'] {
  const gate = visibleRows('m', query.viewer, query.now);
  const after = visibleRows('later', query.viewer, query.now);
  // Each of these two selects the index; the other filters do not change the text.
  const owned = query.agentId === null ? '' : 'AND o.agent_id = @agent_id';
  const one = query.recallId === null ? '' : 'AND o.recall_id = @recall_id';
  const rows = statements
    .get(
      `SELECT o.recall_id, m.id AS memory_id, o.retriever, CAST(listed.key AS INTEGER) + 1 AS rank, CAST(listed.value ->> 1 AS REAL) AS score,
         o.observed_at, o.consumed_at,
         (SELECT later.id FROM memories later WHERE later.id = o.consumed_by_memory_id AND ${after.sql})
           AS consumed_by_memory_id
       FROM recall_observations o CROSS JOIN json_each(o.memories) AS listed
         CROSS JOIN memories m ON m.id = listed.value ->> 0
       WHERE (@consumed IS NULL OR (o.consumed_at IS NOT NULL) = @consumed) AND (@since IS NULL OR o.observed_at >= @since)
         AND (@until IS NULL OR o.observed_at <= @until) ${owned} ${one} AND ${gate.sql}
       ORDER BY o.seq DESC, CAST(listed.key AS INTEGER) LIMIT @limit`,
    )
    .all({
      ...gate.parameters,
      consumed: query.consumed === null ? null : Number(query.consumed),
      since: query.since,
      until: query.until,
      limit: query.limit,
      ...(query.agentId === null ? {} : { agent_id: query.agentId }),
      ...(query.recallId === null ? {} : { recall_id: query.recallId }),
    }) as ObservationRow[];
  return { observations: rows.map(observationJson) };
}

function observationJson(row: ObservationRow): ObservationJson {
  const { consumed_at: consumedAt, consumed_by_memory_id: consumedBy, ...rest } = row;
  return {
    ...rest,
    consumed: consumedAt !== null,
    ...(consumedAt === null ? {} : { consumed_at: consumedAt }),
    ...(consumedBy === null ? {} : { consumed_by_memory_id: consumedBy }),
  };
}
