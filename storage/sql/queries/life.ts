import { CONSOLIDATE_GROUPS_MAX, CONSOLIDATE_IDS_MAX } from '../../../protocol/base/limits.js';
import { AGENTS_NAMESPACE } from '../../../protocol/identity/agent.js';
import type {
  ConsolidationGroup,
  ConsolidationGroups,
  CountExpired,
  CountForgettable,
} from '../../../protocol/lifecycle/queries.js';
import type { Answers } from '../../../protocol/release.js';
import { forgettable } from '../forgettable.js';
import { visibleRows } from '../visibility.js';
import type { QueryParts } from './query-parts.js';

/** How many memories a forget would remove, and their highest row number. */
export function countForgettable(
  { statements }: QueryParts,
  query: CountForgettable,
): Answers['count-forgettable'] {
  const filter = forgettable(query.filter, query.now);
  return statements
    .get(
      `SELECT count(*) AS count, coalesce(max(m.rid), 0) AS throughRid FROM memories m WHERE ${filter.sql}`,
    )
    .get(filter.parameters) as Answers['count-forgettable'];
}

/** Rows whose expiry has passed; agent records never expire. */
export function countExpired({ statements }: QueryParts, query: CountExpired): Answers['count-expired'] {
  return statements
    .get(
      `SELECT count(*) AS count FROM memories
       WHERE expires_at IS NOT NULL AND expires_at <= @now AND namespace <> @agents`,
    )
    .get({ now: query.now, agents: AGENTS_NAMESPACE }) as Answers['count-expired'];
}

/**
 * Groups of at least `countMin` memories that a viewer may join: same namespace, same first tag and same audience, so a
 * group is never refused for mixing memories of different readers. Each group has its oldest members.
 */
export function consolidationGroups(
  { statements }: QueryParts,
  query: ConsolidationGroups,
): Answers['consolidation-groups'] {
  const gate = visibleRows('m', query.viewer, query.now);
  const own = query.viewer.all ? '' : ' AND (m.owner_id IS NULL OR m.owner_id = @owner)';
  const where =
    query.namespace === null ? "m.namespace NOT LIKE '\\_%' ESCAPE '\\'" : 'm.namespace = @namespace';
  const rows = statements
    .get(
      `SELECT namespace, tag, json_group_array(id ORDER BY place) AS ids,
         json_group_array(title ORDER BY place) AS titles FROM (
         SELECT m.namespace, m.tags ->> '$[0]' AS tag, m.id, m.title,
           CASE WHEN m.scope IS NULL OR m.scope = 'collective' THEN '' ELSE m.scope || ' ' || coalesce(m.owner_id, '') END
             AS audience,
           row_number() OVER (PARTITION BY m.namespace, m.tags ->> '$[0]',
             CASE WHEN m.scope IS NULL OR m.scope = 'collective' THEN '' ELSE m.scope || ' ' || coalesce(m.owner_id, '') END
             ORDER BY m.created_at, m.rid) AS place
         FROM memories m
         WHERE ${where} AND ${gate.sql}${own} AND m.tags ->> '$[0]' IS NOT NULL
           ${query.shortOnly ? "AND m.tier = 'short'" : ''}
       ) WHERE place <= @ids_max GROUP BY namespace, tag, audience HAVING count(*) >= @count_min
       ORDER BY namespace, tag, audience LIMIT @groups_max`,
    )
    .all({
      ...gate.parameters,
      ...(query.viewer.all ? {} : { owner: query.viewer.agentId }),
      ...(query.namespace === null ? {} : { namespace: query.namespace }),
      ids_max: CONSOLIDATE_IDS_MAX,
      count_min: query.countMin,
      groups_max: CONSOLIDATE_GROUPS_MAX,
    }) as { namespace: string; tag: string; ids: string; titles: string }[];
  return {
    groups: rows.map(
      ({ namespace, tag, ids, titles }): ConsolidationGroup => ({
        namespace,
        tag,
        ids: JSON.parse(ids) as string[],
        titles: JSON.parse(titles) as string[],
      }),
    ),
  };
}
