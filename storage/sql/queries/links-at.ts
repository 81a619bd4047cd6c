import { LINKS_EXAMINED_MAX } from '../../../protocol/base/limits.js';
import { linkId } from '../../../protocol/links/link.js';
import type { LinkSqlRow } from '../kinds/link-table.js';
import type { SqlFragment } from '../visibility.js';
import type { QueryParts } from './query-parts.js';

const SIDES = [
  ['source_id', 'target_id'],
  ['target_id', 'source_id'],
] as const;

type Shown = LinkSqlRow & { readonly shown: 0 | 1 };

/**
 * The links of a memory, in both directions, whose other end passes the gate over `m`: by creation, then ends and relation.
 * It looks at a bounded number of links; `truncated` says that there are, or may be, more.
 */
export function linksAt(
  { statements }: Pick<QueryParts, 'statements'>,
  id: string,
  gate: SqlFragment,
  limit: number,
): { readonly rows: readonly LinkSqlRow[]; readonly truncated: boolean } {
  const rows: Shown[] = [];
  let truncated = false;
  for (const [own, other] of SIDES) {
    const links = statements
      .get(
        `SELECT l.*, EXISTS (SELECT 1 FROM memories m WHERE m.id = l.${other} AND ${gate.sql}) AS shown
         FROM memory_links l WHERE l.${own} = @id LIMIT ${LINKS_EXAMINED_MAX + 1}`,
      )
      .iterate({ ...gate.parameters, id }) as IterableIterator<Shown>;
    let examined = 0;
    for (const row of links) {
      examined += 1;
      const seen = row.shown === 1 && row.source_id !== row.target_id;
      truncated = (seen && rows.length === limit) || examined > LINKS_EXAMINED_MAX;
      if (truncated) break;
      if (seen) rows.push(row);
    }
    if (truncated) break;
  }
  return { rows: rows.sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1)), truncated };
}

const placeOf = (link: LinkSqlRow): string => `${link.created_at} ${linkId(link)}`;
