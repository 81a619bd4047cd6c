import { instantAfter } from '../../../protocol/base/time.js';
import type { StoreStats } from '../../../protocol/maintenance/queries.js';
import type { Answers } from '../../../protocol/release.js';
import { visibleRows } from '../visibility.js';
import type { QueryParts } from './query-parts.js';

/** Counts over the rows that the viewer may see; admins and local operators see all (interface §4.1). */
export function storeStats({ db, statements }: QueryParts, query: StoreStats): Answers['store-stats'] {
  const gate = visibleRows('m', query.viewer, query.now);
  const byTier = statements
    .get(
      `SELECT tier, count(*) AS count FROM memories m WHERE ${gate.sql} GROUP BY tier ORDER BY count DESC, tier`,
    )
    .all(gate.parameters) as { tier: string; count: number }[];
  const byNamespace = statements
    .get(
      `SELECT namespace, count(*) AS count FROM memories m WHERE ${gate.sql}
       GROUP BY namespace ORDER BY count DESC, namespace`,
    )
    .all(gate.parameters) as { namespace: string; count: number }[];
  const count = (sql: string, parameters: Readonly<Record<string, string | number | null>> = {}) =>
    (statements.get(sql).get(parameters) as { n: number }).n;
  return {
    total: byTier.reduce((sum, row) => sum + row.count, 0),
    by_tier: byTier,
    by_namespace: byNamespace,
    expiring_soon: count(`SELECT count(*) AS n FROM memories m WHERE m.expires_at <= @soon AND ${gate.sql}`, {
      ...gate.parameters,
      soon: instantAfter(query.now, 3600),
    }),
    links_count: count(
      `SELECT count(*) AS n FROM memory_links l JOIN memories m ON m.id = l.source_id
       JOIN memories t ON t.id = l.target_id WHERE ${gate.sql} AND ${visibleRows('t', query.viewer, query.now).sql}`,
      gate.parameters,
    ),
    // The size of the file would tell of the rows that the viewer may not know of.
    db_size_bytes: query.viewer.within === undefined ? db.sizeBytes() : 0,
  };
}
