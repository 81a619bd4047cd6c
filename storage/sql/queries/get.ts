import { MEMORY_LINKS_MAX } from '../../../protocol/base/limits.js';
import { fail, ok, type Result } from '../../../protocol/base/result.js';
import type { MemoryName } from '../../../protocol/graph/queries.js';
import { memoryIdOfEntity } from '../../../protocol/memory/entity.js';
import type { GetMemory } from '../../../protocol/memory/queries.js';
import type { Answers } from '../../../protocol/release.js';
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
  const row = oneMemory<SqlRow>(statements, SELECT_ROW, query.id, gate);
  if (!row.ok) return row;
  const memory = memoryFromSql(row.value);
  const linksMax = query.linksMax ?? MEMORY_LINKS_MAX;
  const { rows, truncated } = linksMax === 0 ? NO_LINKS : linksAt({ statements }, memory.id, gate, linksMax);
  const links = rows.map(({ source_id, target_id, relation, created_at }) => {
    return { source_id, target_id, relation, created_at };
  });
  return ok({ memory, links, truncated });
}

const NO_LINKS = { rows: [], truncated: false };

/** The id, title and namespace of one memory, by its id or a prefix of it. */
export function nameMemory(
  { statements }: QueryParts,
  { id, viewer, now }: Pick<GetMemory, 'id' | 'viewer' | 'now'>,
): Result<MemoryName> {
  return oneMemory(statements, 'm.id, m.title, m.namespace', id, visibleRows('m', viewer, now));
}

type Gate = ReturnType<typeof visibleRows>;

function oneMemory<Row>(statements: Statements, columns: string, id: string, gate: Gate): Result<Row> {
  const exact = statements
    .get(`SELECT ${columns} FROM memories m WHERE m.id = @id AND ${gate.sql}`)
    .get({ ...gate.parameters, id }) as Row | undefined;
  if (exact !== undefined) return ok(exact);
  // Ids contain only ASCII, so everything that starts with the prefix sorts below prefix + DEL.
  const startingWith = (prefix: string, entity: string) =>
    statements
      .get(
        `SELECT ${columns} FROM memories m WHERE m.id >= @prefix AND m.id < @prefix || char(127)
           AND (@entity = '' OR substr(m.entity_id, 1, length(@entity)) = @entity) AND ${gate.sql} LIMIT 2`,
      )
      .all({ ...gate.parameters, prefix, entity }) as Row[];
  const named = startingWith(id, '');
  const ofEntity = memoryIdOfEntity(id);
  const rows = named.length > 0 || ofEntity === null ? named : startingWith(ofEntity, id);
  if (rows.length > 1) {
    return fail('AMBIGUOUS_ID_PREFIX', 'this id prefix matches more than one memory');
  }
  return rows.length === 1 ? ok(rows[0]!) : fail('NOT_FOUND', 'memory not found');
}
