import type { Viewer } from '../../protocol/base/viewer.js';
import { partsOf } from '../../protocol/base/within.js';

/** A piece of SQL for a WHERE clause, with its named parameters. */
export interface SqlFragment {
  readonly sql: string;
  readonly parameters: Readonly<Record<string, string | number | null>>;
}

/** How many levels above the row's namespace a caller may be, for each shared scope. */
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
 * The only gate of every read: the rows of `memories`, under the alias `row`, that exist for a viewer at an instant
 * (decisions, "visibility"). Expired rows are hidden from every viewer. The SQL text depends only on `viewer.all`, on
 * whether rules or a token limit the viewer, and on the alias, so a statement is prepared once; the names of the parameters
 * begin with `gate_`.
 *
 * Decision: a row with a shared scope whose namespace has no such level above it is visible only to its owner.
 */
export function visibleRows(row: string, viewer: Viewer, now: string): SqlFragment {
  const { sql: given, parameters: kept } = givenRows(row, viewer);
  const alive = `((${row}.expires_at IS NULL OR ${row}.expires_at > @gate_now)${given})`;
  if (viewer.all && viewer.within === undefined)
    return { sql: alive, parameters: { gate_now: now, ...kept } };
  const { sql, parameters } = readableRows(row, viewer);
  return { sql: `(${alive} AND ${sql})`, parameters: { gate_now: now, ...kept, ...parameters } };
}

/** The same gate for archived rows, which an expiry does not hide: `archived_memories` under the alias `row`. */
export function visibleArchived(row: string, viewer: Viewer): SqlFragment {
  const { sql: given, parameters: kept } = givenRows(row, viewer);
  if (viewer.all && viewer.within === undefined) return { sql: `(TRUE${given})`, parameters: kept };
  const { sql, parameters } = readableRows(row, viewer);
  return { sql: `(${sql}${given})`, parameters: { ...kept, ...parameters } };
}

/** Leaves out the rows of namespaces that rules keep from the viewer; most viewers have none. */
function givenRows(row: string, { withheld }: Viewer): SqlFragment {
  if (withheld === undefined) return { sql: '', parameters: {} };
  return {
    sql: ` AND NOT EXISTS (SELECT 1 FROM json_each(@gate_withheld) AS kept WHERE regexp_like(${row}.namespace, kept.value))`,
    parameters: { gate_withheld: JSON.stringify(withheld) },
  };
}

/** True for a viewer from whom only expiry hides rows. */
export const seesAll = ({ all, within, withheld }: Viewer): boolean =>
  all && within === undefined && withheld === undefined;

function readableRows(row: string, viewer: Viewer): SqlFragment {
  const scoped = viewer.all ? EVERY_SCOPE : scopedRows(row, viewer);
  if (viewer.within === undefined) return scoped;
  const { names, roots } = partsOf(viewer.within);
  const sql = `(${row}.namespace IN (SELECT value FROM json_each(@gate_names))
    OR EXISTS (SELECT 1 FROM json_each(@gate_roots) AS top WHERE ${row}.namespace = top.value
      OR substr(${row}.namespace, 1, length(top.value) + 1) = top.value || '/'))`;
  return {
    sql: `(${sql} AND ${scoped.sql})`,
    parameters: {
      gate_names: JSON.stringify(names),
      gate_roots: JSON.stringify(roots),
      ...scoped.parameters,
    },
  };
}

const EVERY_SCOPE: SqlFragment = { sql: 'TRUE', parameters: {} };

function scopedRows(row: string, viewer: Viewer): SqlFragment {
  const lineage = viewer.asNamespace === null ? [] : namespaceLineage(viewer.asNamespace);
  // The row's namespace must have exactly the scope's number of levels below the caller's ancestor.
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
