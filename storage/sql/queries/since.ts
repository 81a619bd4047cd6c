import { PAGE_BYTES_MAX, PRIORITY_MAX } from '../../../protocol/base/limits.js';
import type { Answers } from '../../../protocol/release.js';
import type { MemoriesSince } from '../../../protocol/replication/queries.js';
import { PageRows, SELECT_ROW, type SqlRow } from '../rows.js';
import { visibleRows } from '../visibility.js';
import type { QueryParts } from './query-parts.js';

const PRIORITIES = Array.from({ length: PRIORITY_MAX }, (_, below) => below + 1);

/** A page of memories by their last change; the caller checks which of them a peer may have. */
export function memoriesSince({ statements }: QueryParts, query: MemoriesSince): Answers['memories-since'] {
  const gate = visibleRows('m', { all: true, agentId: null, asNamespace: null }, query.now);
  // The index of listings holds the instants of each priority in order, so no index has them alone.
  const changed = (priority: number) =>
    `SELECT * FROM (SELECT m.rid, m.updated_at, m.id FROM memories m
       WHERE m.priority = ${priority} AND m.updated_at >= @updated_at AND (m.updated_at, m.id) > (@updated_at, @id)
         AND ${gate.sql}
       ORDER BY m.updated_at, m.id LIMIT @limit) AS p${priority}`;
  const places = statements
    .get(`${PRIORITIES.map(changed).join(' UNION ALL ')} ORDER BY updated_at, id LIMIT @limit`)
    .all({ ...gate.parameters, ...query.after, limit: query.limit + 1 }) as { readonly rid: number }[];
  const whole = statements.get(`SELECT ${SELECT_ROW} FROM memories m WHERE m.rid = ?`);
  const page = new PageRows();
  const memories = page.rows;
  let bytes = 0;
  let last: MemoriesSince['after'] | null = null;
  for (const { rid } of places) {
    const row = whole.get(rid) as SqlRow | undefined;
    if (row === undefined) continue;
    if (memories.length === query.limit || bytes > PAGE_BYTES_MAX)
      return { memories, more: true, last, ...page.leftOut };
    page.take(row);
    bytes += String(row['content']).length;
    last = { updated_at: String(row['updated_at']), id: String(row['id']) };
  }
  return { memories, more: page.looked > query.limit, last, ...page.leftOut };
}
