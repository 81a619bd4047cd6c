import type { CountNamespaces, NamespaceCount } from '../../../protocol/namespaces/queries.js';
import type { Answers } from '../../../protocol/release.js';
import { type SqlFragment, seesAll, visibleRows } from '../visibility.js';
import type { QueryParts } from './query-parts.js';

/** The number of visible rows of each namespace that has some, by namespace. */
export function countNamespaces(
  { statements }: QueryParts,
  { prefix, viewer, now }: CountNamespaces,
): Answers['count-namespaces'] {
  const gate = visibleRows('m', viewer, now);
  // `0` follows `/`, so this is the prefix and all that lies under it.
  const within =
    prefix === null ? 'TRUE' : `(n.name = @prefix OR (n.name > @prefix || '/' AND n.name < @prefix || '0'))`;
  const sql = seesAll(viewer) ? countsOfAll(within) : countsWithin(within, gate);
  const rows = statements
    .get(sql)
    .all({ ...gate.parameters, ...(prefix === null ? {} : { prefix }) }) as NamespaceCount[];
  return { namespaces: rows };
}

const countsWithin = (within: string, gate: SqlFragment): string =>
  `SELECT n.name AS namespace, count(*) AS count FROM namespaces n JOIN memories m ON m.ns_id = n.ns_id
   WHERE ${within} AND ${gate.sql} GROUP BY n.ns_id ORDER BY n.name`;

/** Only expiry hides rows from this viewer, so two indexes hold all that it takes. */
const countsOfAll = (within: string): string =>
  `SELECT n.name AS namespace, held.n - coalesce(expired.n, 0) AS count FROM namespaces n
   CROSS JOIN (SELECT ns_id, count(*) AS n FROM memories GROUP BY ns_id) AS held ON held.ns_id = n.ns_id
   LEFT JOIN (SELECT ns_id, count(*) AS n FROM memories WHERE expires_at <= @gate_now GROUP BY ns_id) AS expired
     ON expired.ns_id = n.ns_id
   WHERE ${within} AND held.n > coalesce(expired.n, 0) ORDER BY n.name`;
