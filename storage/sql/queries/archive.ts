import { fail, ok, type Result } from '../../../protocol/base/result.js';
import type { ArchiveStats, FindArchived, ListArchive } from '../../../protocol/lifecycle/queries.js';
import type { ArchivedMemory } from '../../../protocol/memory/archived-memory.js';
import type { Answers } from '../../../protocol/release.js';
import { archivedFromSql, SELECT_ARCHIVED } from '../archive.js';
import { DamagedRowError } from '../damage.js';
import type { SqlRow } from '../rows.js';
import { visibleArchived } from '../visibility.js';
import type { QueryParts } from './query-parts.js';

/** Visible archived memories, the most recently archived first. */
export function listArchive({ statements }: QueryParts, query: ListArchive): Answers['list-archive'] {
  const gate = visibleArchived('a', query.viewer);
  const inNamespace = query.namespace === null ? '' : ' AND a.namespace = @namespace';
  const [archivedAt, id] = query.after ?? [];
  // The first part leads through the index.
  const after =
    query.after === undefined
      ? ''
      : ' AND a.archived_at <= @archivedAt AND (a.archived_at < @archivedAt OR a.id > @afterId)';
  const rows = statements
    .get(
      `SELECT ${SELECT_ARCHIVED} FROM archived_memories a WHERE ${gate.sql}${inNamespace}${after}
       ORDER BY a.archived_at DESC, a.id LIMIT @limit OFFSET @offset`,
    )
    .all({
      ...gate.parameters,
      ...(query.namespace === null ? {} : { namespace: query.namespace }),
      ...(query.after === undefined ? {} : { archivedAt, afterId: id }),
      // One more says whether the list goes on.
      limit: query.limit + 1,
      offset: query.offset,
    }) as SqlRow[];
  const page = rows.slice(0, query.limit);
  const archived = page.flatMap((row) => readableArchived(row) ?? []);
  const last = rows.length > page.length ? page.at(-1) : undefined;
  const next = last === undefined ? null : ([last['archived_at'], last['id']] as [string, string]);
  return { archived, unreadable: page.length - archived.length, next };
}

function readableArchived(row: SqlRow): ArchivedMemory | null {
  try {
    return archivedFromSql(row);
  } catch (error) {
    if (error instanceof DamagedRowError) return null;
    throw error;
  }
}

/** Counts over the archived memories that the viewer may see. */
export function archiveStats({ statements }: QueryParts, query: ArchiveStats): Answers['archive-stats'] {
  const gate = visibleArchived('a', query.viewer);
  const byNamespace = statements
    .get(
      `SELECT a.namespace, count(*) AS count FROM archived_memories a WHERE ${gate.sql}
       GROUP BY a.namespace ORDER BY count DESC, a.namespace`,
    )
    .all(gate.parameters) as { namespace: string; count: number }[];
  return {
    archived_total: byNamespace.reduce((sum, row) => sum + row.count, 0),
    by_namespace: byNamespace,
  };
}

/** The full id of an archived memory. */
export function findArchived(
  { statements }: QueryParts,
  query: FindArchived,
): Result<Answers['find-archived']> {
  const gate = visibleArchived('a', query.viewer);
  const parameters = { ...gate.parameters, id: query.id };
  const exact = statements
    .get(`SELECT a.id, a.namespace FROM archived_memories a WHERE a.id = @id AND ${gate.sql}`)
    .get(parameters) as { id: string; namespace: string } | undefined;
  if (exact !== undefined) return ok(exact);
  const rows = statements
    .get(
      `SELECT a.id, a.namespace FROM archived_memories a WHERE a.id >= @id AND a.id < @id || char(127) AND ${gate.sql} LIMIT 2`,
    )
    .all(parameters) as { id: string; namespace: string }[];
  if (rows.length > 1)
    return fail('AMBIGUOUS_ID_PREFIX', 'this id prefix matches more than one archived memory');
  return rows[0] === undefined ? fail('NOT_FOUND', 'not found in archive') : ok(rows[0]);
}
