import type { ListedMemories, ListMemories, ListPlace } from '../../../protocol/memory/queries.js';
import { memoryFilter } from '../filter.js';
import { readPage } from '../read-page.js';
import { SELECT_ROW, type SqlRow } from '../rows.js';
import type { QueryParts } from './query-parts.js';

/** The namespaces whose names begin with `_`, which a backtick follows. */
const RESERVED = "SELECT ns_id FROM namespaces WHERE name >= '_' AND name < '`'";

/** Visible memories by priority, then by the newest update (reference-http §1, row 6). */
export function listMemories({ statements }: QueryParts, query: ListMemories): ListedMemories {
  const filter = memoryFilter('m', query.filter);
  const family = query.family === null ? '' : ` AND m.metadata ->> '$.family' = @family`;
  const reserved = query.withoutReserved === true ? ` AND m.ns_id NOT IN (${RESERVED})` : '';
  const [priority, updatedAt, rid] = query.after ?? [];
  const after =
    query.after === undefined ? '' : ' AND (m.priority, m.updated_at, m.rid) < (@priority, @updatedAt, @rid)';
  const { limit } = query.filter;
  const cursor = statements
    .get(
      `SELECT ${SELECT_ROW} FROM memories m WHERE ${filter.sql}${family}${reserved}${after}
       ORDER BY m.priority DESC, m.updated_at DESC, m.rid DESC LIMIT @limit OFFSET @offset`,
    )
    .iterate({
      ...filter.parameters,
      ...(query.family === null ? {} : { family: query.family }),
      ...(query.after === undefined ? {} : { priority, updatedAt, rid }),
      // One more says whether the list goes on.
      limit: limit + 1,
      offset: query.filter.offset,
    }) as Iterable<SqlRow>;
  const { rows, truncated, looked, end, ...leftOut } = readPage(cursor, { rowsMax: limit });
  const next = end === null ? null : placeOf(end);
  return { memories: rows, nextOffset: truncated ? query.filter.offset + looked : null, next, ...leftOut };
}

const placeOf = (row: SqlRow): ListPlace => [
  row['priority'] as number,
  row['updated_at'] as string,
  row['rid'] as number,
];
