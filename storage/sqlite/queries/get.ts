import { memoryIdOfEntity } from '../../../protocol/graph/entity.js';
import { MEMORY_LINKS_MAX } from '../../../protocol/limits.js';
import type { GetMemory } from '../../../protocol/memory/queries.js';
import type { Answers } from '../../../protocol/queries.js';
import { fail, ok, type Result } from '../../../protocol/result.js';
import { memoryFromSql, SELECT_ROW, type SqlRow } from '../rows.js';
import type { Statements } from '../statements.js';
import { visibleRows } from '../visibility.js';
import { linksAt } from './links-at.js';
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
  const linksMax = query.linksMax ?? MEMORY_LINKS_MAX;
  const { rows, truncated } = linksMax === 0 ? NO_LINKS : linksAt({ statements }, memory.id, gate, linksMax);
  const links = rows.map(({ source_id, target_id, relation, created_at }) => {
    return { source_id, target_id, relation, created_at };
  });
  return ok({ memory, links, truncated });
}

const NO_LINKS = { rows: [], truncated: false };

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
