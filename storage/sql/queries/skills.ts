import type { AnswerOf } from '../../../protocol/release.js';
import type { ReflectionsIn } from '../../../protocol/skills/queries.js';
import { readPage } from '../read-page.js';
import { SELECT_ROW, type SqlRow } from '../rows.js';
import { visibleRows } from '../visibility.js';
import type { QueryParts } from './query-parts.js';

/** The visible reflections of a namespace, the newest first. */
export function reflectionsIn({ statements }: QueryParts, query: ReflectionsIn): AnswerOf<ReflectionsIn> {
  const { namespace, minDepth, maxDepth, limit, viewer, now } = query;
  const visible = visibleRows('m', viewer, now);
  const cursor = statements
    .get(
      `SELECT ${SELECT_ROW} FROM memories m
       WHERE m.ns_id = (SELECT ns_id FROM namespaces WHERE name = @namespace) AND m.memory_kind = 'reflection'
         AND m.reflection_depth BETWEEN @minDepth AND @maxDepth AND ${visible.sql}
       ORDER BY m.created_at DESC, m.id LIMIT @limit`,
    )
    .iterate({ namespace, minDepth, maxDepth, limit, ...visible.parameters }) as Iterable<SqlRow>;
  const { rows, truncated: _truncated, looked: _looked, end: _end, ...leftOut } = readPage(cursor);
  return { memories: rows, ...leftOut };
}
