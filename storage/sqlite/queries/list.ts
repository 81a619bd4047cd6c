import type { ListMemories, MemoryPage } from '../../../protocol/memory/queries.js';
import { memoryFilter } from '../filter.js';
import { readPage } from '../read-page.js';
import { SELECT_ROW, type SqlRow } from '../rows.js';
import type { QueryParts } from './query-parts.js';

/** The namespaces whose names begin with `_`, which a backtick follows. */
const RESERVED = "SELECT ns_id FROM namespaces WHERE name >= '_' AND name < '`'";

/** Visible memories by priority, then by the newest update (reference-http §1, row 6). */
export function listMemories({ statements }: QueryParts, query: ListMemories): MemoryPage {
  const filter = memoryFilter('m', query.filter);
  const family = query.family === null ? '' : ` AND m.metadata ->> '$.family' = @family`;
  const reserved = query.withoutReserved === true ? ` AND m.ns_id NOT IN (${RESERVED})` : '';
  const cursor = statements
    .get(
      `SELECT ${SELECT_ROW} FROM memories m WHERE ${filter.sql}${family}${reserved}
       ORDER BY m.priority DESC, m.updated_at DESC, m.rid DESC LIMIT @limit OFFSET @offset`,
    )
    .iterate({
      ...filter.parameters,
      ...(query.family === null ? {} : { family: query.family }),
      limit: query.filter.limit,
      offset: query.filter.offset,
    }) as Iterable<SqlRow>;
  const { rows, truncated, looked, ...leftOut } = readPage(cursor);
  return { memories: rows, nextOffset: truncated ? query.filter.offset + looked : null, ...leftOut };
}
