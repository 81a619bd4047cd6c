import { NAMESPACES_BELOW_MAX, NAMESPACES_COMPARED_MAX } from '../../../protocol/base/limits.js';
import { nearest } from '../../../protocol/base/nearest.js';
import type { CurrentOwner, NamespaceIds, NamespacesBelow } from '../../../protocol/maintenance/queries.js';
import type { Answers } from '../../../protocol/release.js';
import { BELOW } from '../filter.js';
import { visibleRows } from '../visibility.js';
import type { QueryParts } from './query-parts.js';

/** The log position of this database. */
export function logPosition({ statements }: QueryParts): Answers['log-position'] {
  return statements
    .get(
      `SELECT peer_id AS peerId, db_epoch AS dbEpoch, commit_sequence AS commitSequence,
         origin_seq AS originSeq, chain_head AS chainHead FROM log_state WHERE singleton = 1`,
    )
    .get() as Answers['log-position'];
}

export function schemaVersion({ statements }: QueryParts): Answers['schema-version'] {
  const version = statements.get('SELECT max(version) FROM schema_version').pluck().get() as number;
  return { version };
}

export function databaseSize({ db }: QueryParts): Answers['database-size'] {
  return { db_size_bytes: db.sizeBytes() };
}

export function engines({ db }: QueryParts): Answers['engines'] {
  return { graph: db.graphEngine() };
}

/** Namespaces below one that hold visible rows, by name; where there are none, one with nearly the same name. */
export function namespacesBelow(
  { statements }: QueryParts,
  query: NamespacesBelow,
): Answers['namespaces-below'] {
  const gate = visibleRows('m', query.viewer, query.now);
  const holding = (where: string, max: number) =>
    statements
      .get(
        `SELECT n.name FROM namespaces n WHERE ${where}
           AND EXISTS (SELECT 1 FROM memories m WHERE m.ns_id = n.ns_id AND ${gate.sql})
         ORDER BY n.name LIMIT ${max}`,
      )
      .pluck()
      .all({ ...gate.parameters, namespace: query.namespace }) as string[];
  const names = holding(BELOW.replaceAll('name ', 'n.name '), NAMESPACES_BELOW_MAX);
  if (names.length > 0 || holding('n.name = @namespace', 1).length > 0) return { names, meant: null };
  const others = holding('abs(length(n.name) - length(@namespace)) <= 2', NAMESPACES_COMPARED_MAX);
  return { names, meant: nearest(query.namespace, others) };
}

/** Looks up the numbers of interned namespaces, or of all in a subtree. */
export function namespaceIds({ statements }: QueryParts, query: NamespaceIds): Answers['namespace-ids'] {
  const rows = statements
    .get(
      `SELECT ns_id FROM namespaces WHERE name IN (SELECT value FROM json_each(@names))
         OR (@namespace IS NOT NULL AND ${BELOW}) ORDER BY ns_id`,
    )
    .all({ names: JSON.stringify(query.names), namespace: query.below }) as { ns_id: number }[];
  return { ids: rows.map((row) => row.ns_id) };
}

/** The owner of the database. */
export function currentOwner({ statements }: QueryParts, query: CurrentOwner): Answers['current-owner'] {
  const row = statements
    .get('SELECT holder, fencing FROM database_owner WHERE expires_at_ms > @now')
    .get({ now: query.nowMs }) as { holder: string; fencing: number } | undefined;
  return row ?? { holder: null, fencing: 0 };
}
