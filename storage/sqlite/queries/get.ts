import { memoryIdOfEntity } from '../../../protocol/graph/entity.js';
import type { GetMemory, LinkSummary } from '../../../protocol/memory/queries.js';
import type { Answers } from '../../../protocol/queries.js';
import { fail, ok, type Result } from '../../../protocol/result.js';
import { memoryFromSql, SELECT_ROW, type SqlRow } from '../rows.js';
import type { Statements } from '../statements.js';
import { visibleRows } from '../visibility.js';
import type { QueryParts } from './query-parts.js';

/**
 * One memory by its id, by its id as an entity, or by a prefix that matches exactly one visible row. Rows that the viewer may not see do not
 * exist here, so they can neither be read nor make a prefix ambiguous.
 */
export function getMemory({ statements }: QueryParts, query: GetMemory): Result<Answers['get-memory']> {
  const gate = visibleRows('m', query.viewer, query.now);
  const exact = statements
    .get(`SELECT ${SELECT_ROW} FROM memories m WHERE m.id = @id AND ${gate.sql}`)
    .get({ ...gate.parameters, id: query.id }) as SqlRow | undefined;
  const row = exact ?? byPrefix(statements, query, gate) ?? byEntityId(statements, query, gate);
  if (row === 'ambiguous') return fail('AMBIGUOUS_ID_PREFIX', 'this id prefix matches more than one memory');
  if (row === undefined) return fail('NOT_FOUND', 'memory not found');
  const memory = memoryFromSql(row);
  return ok({ memory, links: linksOf(statements, memory.id, gate) });
}

type Gate = ReturnType<typeof visibleRows>;

function byPrefix(statements: Statements, query: GetMemory, gate: Gate): SqlRow | undefined | 'ambiguous' {
  // Ids contain only ASCII, so everything that starts with the prefix sorts below prefix + DEL.
  const rows = statements
    .get(
      `SELECT ${SELECT_ROW} FROM memories m WHERE m.id >= @id AND m.id < @id || char(127) AND ${gate.sql} LIMIT 2`,
    )
    .all({ ...gate.parameters, id: query.id }) as SqlRow[];
  return rows.length > 1 ? 'ambiguous' : rows[0];
}

/** The memory of the entity whose id, or the beginning of it, this is. */
function byEntityId(statements: Statements, query: GetMemory, gate: Gate): SqlRow | undefined | 'ambiguous' {
  const id = memoryIdOfEntity(query.id);
  const row = id === null ? undefined : byPrefix(statements, { ...query, id }, gate);
  if (row === undefined || row === 'ambiguous') return row;
  return String(row['entity_id']).startsWith(query.id) ? row : undefined;
}

function linksOf(statements: Statements, id: string, gate: Gate): LinkSummary[] {
  const other = (column: string) =>
    `SELECT l.source_id, l.target_id, l.relation, l.created_at FROM memory_links l
     JOIN memories m ON m.id = l.${column === 'source_id' ? 'target_id' : 'source_id'}
     WHERE l.${column} = @id AND ${gate.sql}`;
  return statements
    .get(`${other('source_id')} UNION ${other('target_id')} ORDER BY 4, 1, 2, 3`)
    .all({ ...gate.parameters, id }) as LinkSummary[];
}
