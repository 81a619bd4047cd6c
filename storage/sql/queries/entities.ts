import { ENTITY_ALIASES_READ_MAX, ENTITY_MATCHES_MAX } from '../../../protocol/base/limits.js';
import { type Alias, aliasKind } from '../../../protocol/memory/alias-kind.js';
import { type EntityRecord, entityRecord, inOrder } from '../../../protocol/memory/aliases.js';
import { foldedAlias } from '../../../protocol/memory/entity.js';
import type { EntityByAlias } from '../../../protocol/namespaces/queries.js';
import type { Answers } from '../../../protocol/release.js';
import { memberSql, type RecordSqlRow, recordImageOf } from '../kinds/record-table.js';
import type { Statements } from '../statements.js';
import { visibleRows } from '../visibility.js';
import type { QueryParts } from './query-parts.js';

interface Match {
  readonly id: string;
  readonly title: string;
  readonly namespace: string;
}

/** Matches of one namespace among which the one with the canonical name is looked for. */
const NAMED_AMONG = 100;

/**
 * The entity with an alias. An alias counts where its entity's memory lives, is visible and is in the namespace in which
 * the alias was written. A canonical name also counts as it is written, so that an entity without alias records is found.
 */
export function entityByAlias(
  { statements }: QueryParts,
  { alias, namespace, viewer, now }: EntityByAlias,
): Answers['entity-by-alias'] {
  const gate = visibleRows('m', viewer, now);
  const within = namespace === null ? '' : `AND ${memberSql('namespace')} = @namespace`;
  const folded = foldedAlias(alias);
  const matches = statements
    .get(
      `SELECT m.id, m.title, m.namespace FROM (
         SELECT * FROM (SELECT ${memberSql('memory_id')} AS id, namespace FROM records
           WHERE kind = 'alias' AND ${memberSql('folded')} = @folded ${within} ORDER BY rid DESC LIMIT @max)
         UNION SELECT id, namespace FROM memories WHERE title = @title AND conflict_of IS NULL) AS named
       CROSS JOIN memories m ON m.id = named.id AND m.namespace = named.namespace
       WHERE m.memory_kind = 'entity' AND m.entity_id = 'ent-' || m.id
         AND (@namespace IS NULL OR m.namespace = @namespace) AND ${gate.sql}
       ORDER BY m.created_at DESC, m.id LIMIT ${NAMED_AMONG}`,
    )
    .all({ ...gate.parameters, namespace, folded, title: alias.trim(), max: ENTITY_MATCHES_MAX }) as Match[];
  const named = namespace === null ? undefined : matches.find(({ title }) => foldedAlias(title) === folded);
  const entity = named ?? matches[0];
  return { entity: entity === undefined ? null : recordOf(statements, entity) };
}

/** The entity with its aliases; one that cannot be read is left out. */
function recordOf(statements: Statements, entity: Match): EntityRecord {
  const rows = statements
    .get(
      `SELECT * FROM records WHERE kind = 'alias' AND ${memberSql('memory_id')} = @id AND namespace = @namespace
       ORDER BY id LIMIT ${ENTITY_ALIASES_READ_MAX}`,
    )
    .all({ id: entity.id, namespace: entity.namespace }) as RecordSqlRow[];
  const aliases = rows.flatMap((row) => (recordImageOf(aliasKind, row) as Alias | null) ?? []);
  return entityRecord(entity, inOrder(aliases));
}
