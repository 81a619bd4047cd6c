import { subtreeRoot } from '../../protocol/base/ids.js';
import type { MemoryFilter } from '../../protocol/memory/queries.js';
import { visibleRows } from './visibility.js';

/** A WHERE clause with its named parameters. */
export interface FilterSql {
  readonly sql: string;
  readonly parameters: Record<string, string | number | null>;
}

/** The rows of a namespace, or of a subtree (`team/**`). Names below sort between `team/` and `team0`: `0` follows `/`. */
export function inNamespace(alias: string, name: string): FilterSql {
  const root = subtreeRoot(name);
  if (root === null) {
    return {
      sql: `${alias}.ns_id = (SELECT ns_id FROM namespaces WHERE name = @namespace)`,
      parameters: { namespace: name },
    };
  }
  return {
    sql: `${alias}.ns_id IN (SELECT ns_id FROM namespaces WHERE ${BELOW} OR name = @namespace)`,
    parameters: { namespace: root },
  };
}

/** Of `namespaces`: those below `@namespace`. */
export const BELOW = "(name > @namespace || '/' AND name < @namespace || '0')";

/**
 * The filters of list and search over `memories` under an alias, with the visibility gate. The text depends on the type
 * of viewer, on whether a namespace is given (it selects the index) and on whether there are other filters.
 */
export function memoryFilter(alias: string, filter: MemoryFilter): FilterSql {
  const gate = visibleRows(alias, filter.viewer, filter.now);
  const clauses = [gate.sql];
  const parameters: Record<string, string | number | null> = { ...gate.parameters };
  if (filter.namespace !== null) {
    const place = inNamespace(alias, filter.namespace);
    clauses.push(place.sql);
    Object.assign(parameters, place.parameters);
  }
  const { kinds = null } = filter;
  const others = {
    tier: filter.tier,
    min_priority: filter.minPriority,
    since: filter.since,
    until: filter.until,
    agent_id: filter.agentId,
    kinds: kinds === null ? null : JSON.stringify(kinds),
    tags: filter.tags.length === 0 ? null : JSON.stringify(filter.tags),
  };
  if (Object.values(others).some((value) => value !== null)) {
    clauses.push(
      `(@tier IS NULL OR ${alias}.tier = @tier)
       AND (@min_priority IS NULL OR ${alias}.priority >= @min_priority)
       AND (@since IS NULL OR ${alias}.created_at >= @since) AND (@until IS NULL OR ${alias}.created_at <= @until)
       AND (@kinds IS NULL OR ${alias}.memory_kind IN (SELECT value FROM json_each(@kinds)))
       AND (@agent_id IS NULL OR ${alias}.owner_id = @agent_id)
       AND (@tags IS NULL OR EXISTS (SELECT 1 FROM json_each(${alias}.tags) tag
         WHERE tag.value IN (SELECT value FROM json_each(@tags))))`,
    );
    Object.assign(parameters, others);
  }
  if ((filter.asOf ?? null) !== null) {
    clauses.push(validAt(alias));
    parameters['as_of'] = filter.asOf!;
  }
  return { sql: clauses.join(' AND '), parameters };
}

/** Of memories under an alias: those that hold at `@as_of`. Their times lie in `rest`, which is empty for most. */
export const validAt = (alias: string): string =>
  `(${alias}.rest = '{}' OR NOT json_valid(${alias}.rest) OR (
     coalesce(${alias}.rest ->> '$.valid_from' <= @as_of, 1 = 1) AND
     coalesce(${alias}.rest ->> '$.valid_until' > @as_of, 1 = 1)))`;
