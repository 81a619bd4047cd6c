import type { PersonaOf, PersonaSources } from '../../../protocol/personas/queries.js';
import type { Answers } from '../../../protocol/release.js';
import { memoryFromSql, SELECT_ROW, type SqlRow } from '../rows.js';
import type { Statements } from '../statements.js';
import { visibleRows } from '../visibility.js';
import type { QueryParts } from './query-parts.js';

/** The highest version of the personas of an entity in a namespace; 0 where there is none. */
export const personaVersion = (statements: Statements, entityId: string, namespace: string): number =>
  statements
    .get(
      `SELECT coalesce(max(persona_version), 0) FROM memories
       WHERE entity_id = ? AND persona_version IS NOT NULL AND namespace = ? AND memory_kind = 'persona'`,
    )
    .pluck()
    .get(entityId, namespace) as number;

/** How many reflections about an entity lie in a namespace. */
export const countReflections = (statements: Statements, entityId: string, namespace: string): number =>
  statements
    .get(
      `SELECT count(*) FROM memories
       WHERE mentioned_entity_id = ? AND namespace = ? AND memory_kind = 'reflection'`,
    )
    .pluck()
    .get(entityId, namespace) as number;

export function personaOf(
  { statements }: QueryParts,
  { entityId, namespace, viewer, now }: PersonaOf,
): Answers['persona-of'] {
  const gate = visibleRows('m', viewer, now);
  const row = statements
    .get(
      `SELECT ${SELECT_ROW} FROM memories m
       WHERE m.entity_id = @entityId AND m.persona_version IS NOT NULL AND m.namespace = @namespace
         AND m.memory_kind = 'persona' AND ${gate.sql}
       ORDER BY m.persona_version DESC, m.created_at DESC LIMIT 1`,
    )
    .get({ ...gate.parameters, entityId, namespace }) as SqlRow | undefined;
  return { memory: row === undefined ? null : memoryFromSql(row) };
}

export function personaSources(
  { statements }: QueryParts,
  { entityId, namespace, home, limit, viewer, now }: PersonaSources,
): Answers['persona-sources'] {
  const gate = visibleRows('m', viewer, now);
  const within = namespace === null ? '' : 'AND m.namespace = @namespace';
  const rows = statements
    .get(
      `SELECT ${SELECT_ROW} FROM memories m
       WHERE m.mentioned_entity_id = @entityId AND m.memory_kind = 'reflection' ${within} AND ${gate.sql}
       ORDER BY m.priority DESC, m.created_at DESC, m.id LIMIT @limit`,
    )
    .all({ ...gate.parameters, ...(namespace === null ? {} : { namespace }), entityId, limit }) as SqlRow[];
  return {
    reflections: rows.map(memoryFromSql),
    version: personaVersion(statements, entityId, home),
  };
}
