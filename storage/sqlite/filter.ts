import type { MemoryFilter } from '../../protocol/queries.js';
import { visibleRows } from './visibility.js';

/** A WHERE clause with its named parameters. */
export interface FilterSql {
  readonly sql: string;
  readonly parameters: Record<string, string | number | null>;
}

/** The filters of list and search over `memories` under an alias, the visibility gate included. */
export function memoryFilter(alias: string, filter: MemoryFilter): FilterSql {
  const gate = visibleRows(alias, filter.viewer, filter.now);
  const clauses = [gate.sql];
  const parameters: Record<string, string | number | null> = { ...gate.parameters };
  const add = (clause: string, name: string, value: string | number) => {
    clauses.push(clause);
    parameters[name] = value;
  };
  if (filter.namespace !== null) {
    add(
      `${alias}.ns_id = (SELECT ns_id FROM namespaces WHERE name = @namespace)`,
      'namespace',
      filter.namespace,
    );
  }
  if (filter.tier !== null) add(`${alias}.tier = @tier`, 'tier', filter.tier);
  if (filter.minPriority !== null)
    add(`${alias}.priority >= @min_priority`, 'min_priority', filter.minPriority);
  if (filter.since !== null) add(`${alias}.created_at >= @since`, 'since', filter.since);
  if (filter.until !== null) add(`${alias}.created_at <= @until`, 'until', filter.until);
  if (filter.agentId !== null) add(`${alias}.owner_id = @agent_id`, 'agent_id', filter.agentId);
  if (filter.tags.length > 0) {
    add(
      `EXISTS (SELECT 1 FROM json_each(${alias}.tags) tag WHERE tag.value IN (SELECT value FROM json_each(@tags)))`,
      'tags',
      JSON.stringify(filter.tags),
    );
  }
  return { sql: clauses.join(' AND '), parameters };
}
