import { LINKS_EXAMINED_MAX } from '../../../protocol/base/limits.js';
import { ok, type Result } from '../../../protocol/base/result.js';
import type {
  LinksOfMemory,
  LinksOfMemoryAnswer,
  NamedLinks,
  NamedLinksAnswer,
} from '../../../protocol/graph/link-queries.js';
import type { NewestLinks } from '../../../protocol/graph/queries.js';
import { linkId } from '../../../protocol/links/link.js';
import { linkKind } from '../../../protocol/links/link-kind.js';
import type { Answers } from '../../../protocol/release.js';
import { isDigest } from '../digests.js';
import { type LinkSqlRow, linkFromSql } from '../kinds/link-table.js';
import { visibleRows } from '../visibility.js';
import { getMemory } from './get.js';
import { linksAt } from './links-at.js';
import type { QueryParts } from './query-parts.js';

/** The links of a memory, in both directions, whose other end is visible. */
export function linksOfMemory(parts: QueryParts, query: LinksOfMemory): Result<LinksOfMemoryAnswer> {
  const found = getMemory(parts, { ...query, kind: 'get-memory', linksMax: 0 });
  if (!found.ok) return found;
  const { id } = found.value.memory;
  const gate = visibleRows('m', query.viewer, query.now);
  const { rows, truncated } = linksAt(parts, id, gate, query.limit);
  return ok({ id, links: rows.map(linkFromSql), truncated });
}

/** Links from a memory whose ends are visible, each compared with its digest. It looks at a bounded number of links. */
export function namedLinks({ statements, crypto }: QueryParts, query: NamedLinks): NamedLinksAnswer {
  const source = visibleRows('s', query.viewer, query.now);
  const target = visibleRows('t', query.viewer, query.now);
  const to = query.targetId === null ? '' : 'AND target_id = @target_id';
  const rows = statements
    .get(
      `SELECT l.* FROM (SELECT * FROM memory_links WHERE source_id = @source_id ${to} LIMIT ${LINKS_EXAMINED_MAX}) l
         JOIN memories s ON s.id = l.source_id JOIN memories t ON t.id = l.target_id
       WHERE (@relation IS NULL OR l.relation = @relation) AND ${source.sql} AND ${target.sql}
       ORDER BY l.target_id, l.relation LIMIT @limit`,
    )
    .all({
      ...source.parameters,
      source_id: query.sourceId,
      ...(query.targetId === null ? {} : { target_id: query.targetId }),
      relation: query.relation,
      limit: query.limit,
    }) as LinkSqlRow[];
  const found = rows.map((row) => {
    const link = linkFromSql(row);
    const text = `${linkId(link)}\n${linkKind.payload.text(link)}`;
    return { link, whole: isDigest(row.digest, crypto.sha256(text)) };
  });
  return { found };
}

/** The newest link of each memory whose other end the viewer may see. */
export function newestLinks({ statements }: QueryParts, query: NewestLinks): Answers['newest-links'] {
  const gate = visibleRows('m', query.viewer, query.now);
  const side = (own: string, other: string) =>
    `SELECT l.*, l.${own} AS id, coalesce(l.signed_at, l.created_at) AS at
     FROM json_each(@ids) AS listed CROSS JOIN memory_links l ON l.${own} = listed.value
     CROSS JOIN memories m ON m.id = l.${other} WHERE ${gate.sql}`;
  const rows = statements
    .get(
      `${side('source_id', 'target_id')} UNION ALL ${side('target_id', 'source_id')} ORDER BY created_at, at`,
    )
    .all({ ...gate.parameters, ids: JSON.stringify(query.ids) }) as (LinkSqlRow & { readonly id: string })[];
  // Keeps the last entry of each id.
  const newest = new Map(rows.map((row) => [row.id, row]));
  return { newest: [...newest].map(([id, row]) => [id, linkFromSql(row)]) };
}
