import { CONTRADICTION_PAIRS_MAX, CONTRADICTION_ROWS_READ_MAX } from '../../../protocol/base/limits.js';
import { contradictionPairs, pairKey } from '../../../protocol/lifecycle/contradictions.js';
import type { ContradictionLink, FindContradictions } from '../../../protocol/lifecycle/queries.js';
import { validityAt } from '../../../protocol/memory/validity.js';
import type { Answers } from '../../../protocol/release.js';
import { PageRows, SELECT_ROW, type SqlRow } from '../rows.js';
import type { Statements } from '../statements.js';
import { visibleRows } from '../visibility.js';
import type { QueryParts } from './query-parts.js';

interface StoredLink {
  readonly source_id: string;
  readonly target_id: string;
  readonly valid_until: string | null;
}

/**
 * Memories with one subject that say different things, and those that stored links say contradict them (interface §4.4,
 * GET /contradictions). The work is bounded: of the rows, the links and the comparisons.
 */
export function findContradictions(
  { statements }: QueryParts,
  query: FindContradictions,
): Answers['find-contradictions'] {
  const page = new PageRows();
  const found = candidates(statements, query);
  for (const row of found.rows) page.take(row);
  const subjects = [...page.rows];
  const stored = storedLinks(statements, query, subjects);
  const listed = new Set(subjects.map(({ id }) => id));
  const ends = stored.links.flatMap(({ source_id, target_id }) => [source_id, target_id]);
  for (const row of others(
    statements,
    query,
    [...new Set(ends)].filter((id) => !listed.has(id)),
  ))
    page.take(row);
  const shown = new Set(page.rows.map(({ id }) => id));
  // An invalidated link says that somebody settled the matter, so its pair is not suggested again.
  const known = new Set(stored.links.map(({ source_id, target_id }) => pairKey(source_id, target_id)));
  const links = stored.links
    .filter((link) => link.valid_until === null || link.valid_until > query.now)
    .filter((link) => shown.has(link.source_id) && shown.has(link.target_id))
    .map(({ source_id, target_id }): ContradictionLink => {
      return { source_id, target_id, relation: 'contradicts', synthesized: false };
    });
  const linked = new Set(links.flatMap(({ source_id, target_id }) => [source_id, target_id]));
  // What has ended, or not begun, contradicts nothing now.
  const holding = subjects.filter((memory) => validityAt(memory, query.now) === 'valid');
  const pairs = contradictionPairs(holding, query.topic !== null, known);
  return {
    memories: page.rows.filter(({ id }) => listed.has(id) || linked.has(id)),
    links: [...links, ...pairs.links],
    truncated: found.truncated || stored.truncated || pairs.truncated,
    ...page.leftOut,
  };
}

/** The most important rows about the topic, or of the namespace. */
function candidates(
  statements: Statements,
  query: FindContradictions,
): { readonly rows: readonly SqlRow[]; readonly truncated: boolean } {
  const gate = visibleRows('m', query.viewer, query.now);
  const { namespace, topic, limit } = query;
  const within =
    namespace === null ? 'TRUE' : 'm.ns_id = (SELECT ns_id FROM namespaces WHERE name = @namespace)';
  const order = 'm.priority DESC, m.updated_at DESC, m.rid DESC';
  const parameters = { ...gate.parameters, limit, ...(namespace === null ? {} : { namespace }) };
  if (topic === null) {
    const sql = `SELECT ${SELECT_ROW} FROM memories m WHERE ${within} AND ${gate.sql} ORDER BY ${order} LIMIT @limit`;
    return { rows: statements.get(sql).all(parameters) as SqlRow[], truncated: false };
  }
  // No index holds topics, so only the most important rows are read for theirs; titles have an index.
  const read = `SELECT m.rid FROM memories m WHERE ${within} ORDER BY m.priority DESC, m.updated_at DESC LIMIT @read`;
  // A store under a taken title became `title (2)`; `)` follows `(`.
  const titled = `SELECT rid FROM memories WHERE title = @topic AND conflict_of IS NULL
    UNION ALL SELECT rid FROM memories WHERE title > @topic || ' (' AND title < @topic || ' )' AND conflict_of IS NULL`;
  const rows = statements
    .get(
      `SELECT ${SELECT_ROW} FROM (${titled} UNION SELECT m.rid FROM (${read}) AS read CROSS JOIN memories m ON m.rid = read.rid
         WHERE m.metadata ->> '$.topic' = @topic OR lower(m.title) = @folded
           OR substr(m.title, 1, length(@topic) + 2) = @topic || ' (') AS about
       CROSS JOIN memories m ON m.rid = about.rid WHERE ${within} AND ${gate.sql} ORDER BY ${order} LIMIT @limit`,
    )
    .all({ ...parameters, topic, folded: lowered(topic), read: CONTRADICTION_ROWS_READ_MAX }) as SqlRow[];
  const more = statements
    .get(
      `SELECT 1 FROM memories m WHERE ${within} ORDER BY m.priority DESC, m.updated_at DESC LIMIT 1 OFFSET @read`,
    )
    .get({ read: CONTRADICTION_ROWS_READ_MAX, ...(namespace === null ? {} : { namespace }) });
  return { rows, truncated: rows.length < limit && more !== undefined };
}

/** As SQL lowers a title: only the letters of ASCII. */
const lowered = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/** The links that say that one of these memories contradicts another one, invalidated ones included. */
function storedLinks(
  statements: Statements,
  { viewer, now }: FindContradictions,
  subjects: readonly { readonly id: string }[],
): { readonly links: readonly StoredLink[]; readonly truncated: boolean } {
  const gate = visibleRows('m', viewer, now);
  const side = (own: string, other: string) =>
    `SELECT l.source_id, l.target_id, l.valid_until FROM json_each(@ids) AS listed
     CROSS JOIN memory_links l ON l.${own} = listed.value CROSS JOIN memories m ON m.id = l.${other}
     WHERE l.relation = 'contradicts' AND ${gate.sql}`;
  const links = statements
    .get(
      `${side('source_id', 'target_id')} UNION ${side('target_id', 'source_id')}
       ORDER BY source_id, target_id LIMIT @max`,
    )
    .all({
      ...gate.parameters,
      ids: JSON.stringify(subjects.map(({ id }) => id)),
      max: CONTRADICTION_PAIRS_MAX + 1,
    }) as StoredLink[];
  const truncated = links.length > CONTRADICTION_PAIRS_MAX;
  return { links: links.slice(0, CONTRADICTION_PAIRS_MAX), truncated };
}

/** The visible rows with these ids. */
function others(
  statements: Statements,
  { viewer, now }: FindContradictions,
  ids: readonly string[],
): readonly SqlRow[] {
  if (ids.length === 0) return [];
  const gate = visibleRows('m', viewer, now);
  return statements
    .get(
      `SELECT ${SELECT_ROW} FROM json_each(@ids) AS asked CROSS JOIN memories m ON m.id = asked.value
       WHERE ${gate.sql} ORDER BY m.priority DESC, m.updated_at DESC, m.rid DESC`,
    )
    .all({ ...gate.parameters, ids: JSON.stringify(ids) }) as SqlRow[];
}
