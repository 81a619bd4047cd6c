import type { Viewer } from '../../protocol/ranking/types.js';

/** A piece of SQL for a WHERE clause, with its named parameters. */
export interface SqlFragment {
  readonly sql: string;
  readonly parameters: Readonly<Record<string, string | number | null>>;
}

/** How many levels above the row's namespace a caller may sit, for each shared scope. */
const LEVELS_UP: readonly (readonly [scope: string, levels: number])[] = [
  ['team', 1],
  ['unit', 2],
  ['org', 3],
];

/** A namespace and the namespaces above it, itself first. */
export function namespaceLineage(namespace: string): string[] {
  const parts = namespace.split('/');
  return parts.map((_part, index) => parts.slice(0, parts.length - index).join('/'));
}

const LEVEL_CASES = LEVELS_UP.map(([scope, levels]) => `WHEN '${scope}' THEN ${levels - 1}`).join(' ');
const SHARED_SCOPES = LEVELS_UP.map(([scope]) => `'${scope}'`).join(', ');

/**
 * The one gate of every read: which rows of `memories`, under the alias `row`, exist for a viewer at an instant
 * (decisions, "visibility"). Expired rows exist for nobody. The text of the SQL depends on `viewer.all` and the alias
 * alone, so that a statement is prepared once; the parameters are named `gate_now`, `gate_agent` and `gate_lineage`.
 *
 * Decision: a row with a shared scope whose namespace has no such level above it is its owner's alone.
 */
export function visibleRows(row: string, viewer: Viewer, now: string): SqlFragment {
  const alive = `(${row}.expires_at IS NULL OR ${row}.expires_at > @gate_now)`;
  if (viewer.all) return { sql: alive, parameters: { gate_now: now } };
  const { sql, parameters } = readableRows(row, viewer);
  return { sql: `(${alive} AND ${sql})`, parameters: { gate_now: now, ...parameters } };
}

/** The same gate for archived rows, whose expiry hides nothing: `archived_memories` under the alias `row`. */
export function visibleArchived(row: string, viewer: Viewer): SqlFragment {
  return viewer.all ? { sql: '1', parameters: {} } : readableRows(row, viewer);
}

function readableRows(row: string, viewer: Viewer): SqlFragment {
  const lineage = viewer.asNamespace === null ? [] : namespaceLineage(viewer.asNamespace);
  // What follows the caller's ancestor in the row's namespace must have exactly as many levels as the scope says.
  const rest = `substr(${row}.namespace, length(above.value) + 2)`;
  const sql = `(${row}.scope IS NULL OR ${row}.scope = 'collective' OR ${row}.owner_id = @gate_agent
    OR (${row}.scope IN (${SHARED_SCOPES}) AND EXISTS (SELECT 1 FROM json_each(@gate_lineage) AS above
      WHERE substr(${row}.namespace, 1, length(above.value) + 1) = above.value || '/'
      AND length(${rest}) - length(replace(${rest}, '/', '')) = CASE ${row}.scope ${LEVEL_CASES} END))
    OR (${row}.scope NOT IN (${SHARED_SCOPES}) AND ${row}.addressee_id = @gate_agent))`;
  return {
    sql,
    parameters: {
      gate_agent: viewer.agentId,
      gate_lineage: JSON.stringify(lineage),
    },
  };
}
