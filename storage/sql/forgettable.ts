import { AGENTS_NAMESPACE } from '../../protocol/identity/agent.js';
import type { ForgetFilter } from '../../protocol/memory/forget-filter.js';
import { patternExpression } from '../../protocol/ranking/query.js';
import { type FilterSql, inNamespace } from './filter.js';
import { visibleRows } from './visibility.js';

/**
 * The rows of `memories m` that a forget selects (interface §4.4): rows with any word of the pattern that the viewer
 * sees and may change, but never agent records. A pattern without a word matches no row.
 */
export function forgettable(filter: ForgetFilter, now: string): FilterSql {
  const { viewer } = filter;
  const gate = visibleRows('m', viewer, now);
  // One agent record would make the rule refuse the whole batch, and any agent chooses the words of its record.
  const clauses = [gate.sql, 'm.namespace <> @agents'];
  const parameters: Record<string, string | number | null> = { ...gate.parameters, agents: AGENTS_NAMESPACE };
  if (!viewer.all) {
    clauses.push('(m.owner_id IS NULL OR m.owner_id = @owner)');
    parameters['owner'] = viewer.agentId;
  }
  if (filter.namespace !== null) {
    const place = inNamespace('m', filter.namespace);
    clauses.push(place.sql);
    Object.assign(parameters, place.parameters);
  }
  if (filter.tier !== null) {
    clauses.push('m.tier = @tier');
    parameters['tier'] = filter.tier;
  }
  if (filter.throughRid !== null) {
    clauses.push('m.rid <= @through');
    parameters['through'] = filter.throughRid;
  }
  if (filter.pattern !== null) {
    const expression = patternExpression(filter.pattern);
    if (expression === null) clauses.push('FALSE');
    else {
      clauses.push('m.rid IN (SELECT rowid FROM memories_fts WHERE memories_fts MATCH @expression)');
      parameters['expression'] = expression;
    }
  }
  return { sql: clauses.join(' AND '), parameters };
}
