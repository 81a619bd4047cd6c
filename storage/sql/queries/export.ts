import { AGENTS_NAMESPACE } from '../../../protocol/identity/agent.js';
import type { Answers } from '../../../protocol/release.js';
import type { ExportLinks, ExportMemories, ExportPlace } from '../../../protocol/transfer/queries.js';
import { type FilterSql, inNamespace } from '../filter.js';
import { type LinkSqlRow, linkFromSql } from '../kinds/link-table.js';
import { PageRows, SELECT_ROW, type SqlRow } from '../rows.js';
import { visibleRows } from '../visibility.js';
import type { QueryParts } from './query-parts.js';

/** The bytes of a row in an answer besides its texts. */
const ROW_OVERHEAD_BYTES = 1024;

/** A page of visible memories by creation and id; it always holds one row, of any size. */
export function exportMemories(
  { statements }: QueryParts,
  query: ExportMemories,
): Answers['export-memories'] {
  const gate = visibleRows('m', query.viewer, query.now);
  const place = within(query.namespace);
  const rows = statements
    .get(
      `SELECT ${SELECT_ROW} FROM memories m
       WHERE (m.created_at, m.id) > (@created_at, @id) AND m.namespace <> @agents AND ${gate.sql} AND ${place.sql}
         AND (@kind IS NULL OR m.memory_kind = @kind)
       ORDER BY m.created_at, m.id LIMIT @limit`,
    )
    .iterate({
      ...gate.parameters,
      ...place.parameters,
      created_at: query.after?.created_at ?? '',
      id: query.after?.id ?? '',
      kind: query.ofKind ?? null,
      // Agents register and bind keys on each node; an import of their records would bypass that.
      agents: AGENTS_NAMESPACE,
      limit: query.limit + 1,
    }) as IterableIterator<SqlRow>;
  const page = new PageRows();
  const memories = page.rows;
  let bytes = 0;
  let last: ExportPlace | null = null;
  for (const row of rows) {
    bytes += bytesOf(row);
    const full = memories.length === query.limit || (memories.length > 0 && bytes > query.bytesMax);
    if (full) return { memories, more: true, last, ...page.leftOut };
    page.take(row);
    last = { created_at: String(row['created_at']), id: String(row['id']) };
  }
  return { memories, more: page.looked > query.limit, last, ...page.leftOut };
}

const EVERYWHERE: FilterSql = { sql: 'TRUE', parameters: {} };

const within = (namespace: string | null | undefined): FilterSql =>
  namespace === null || namespace === undefined ? EVERYWHERE : inNamespace('m', namespace);

const TEXT_COLUMNS = ['title', 'content', 'tags', 'metadata', 'citations'] as const;

function bytesOf(row: SqlRow): number {
  return TEXT_COLUMNS.reduce(
    (sum, column) => sum + Buffer.byteLength(String(row[column])),
    ROW_OVERHEAD_BYTES,
  );
}

/** A page of links whose two ends are visible, by creation and id of the source, then target and relation. */
export function exportLinks({ statements }: QueryParts, query: ExportLinks): Answers['export-links'] {
  const source = visibleRows('m', query.viewer, query.now);
  const target = visibleRows('other', query.viewer, query.now);
  const place = within(query.namespace);
  const rows = statements
    .get(
      `SELECT m.created_at AS source_created_at, l.source_id, l.target_id, l.relation, l.created_at, l.valid_from,
         l.valid_until, l.observed_by, l.signature, l.attest_level, l.signed_at, l.rest
       FROM memories m JOIN memory_links l ON l.source_id = m.id JOIN memories other ON other.id = l.target_id
       WHERE (m.created_at, m.id) >= (@from_created_at, @from_id)
         AND (m.created_at, m.id, l.target_id, l.relation) > (@from_created_at, @from_id, @target_id, @relation)
         AND (m.created_at, m.id) <= (@until_created_at, @until_id)
         AND ${source.sql} AND ${target.sql} AND ${place.sql}
       ORDER BY m.created_at, m.id, l.target_id, l.relation LIMIT @limit`,
    )
    .all({
      ...source.parameters,
      ...place.parameters,
      from_created_at: query.after?.created_at ?? '',
      from_id: query.after?.id ?? '',
      // A cursor with only a memory continues after all links of that memory: ids and relations are ASCII.
      target_id: query.after?.link?.target_id ?? LAST,
      relation: query.after?.link?.relation ?? LAST,
      until_created_at: query.until?.created_at ?? LAST,
      until_id: query.until?.id ?? LAST,
      limit: query.limit + 1,
    }) as (LinkSqlRow & { source_created_at: string })[];
  const page = rows.slice(0, query.limit);
  const last = page.at(-1);
  const more = rows.length > query.limit && last !== undefined;
  return {
    links: page.map((link) => ({
      ...linkFromSql(link),
      signature: Buffer.isBuffer(link.signature) ? link.signature.toString('base64') : null,
    })),
    next: more
      ? {
          created_at: last.source_created_at,
          id: last.source_id,
          link: { target_id: last.target_id, relation: last.relation },
        }
      : null,
  };
}

const LAST = '\u007f';
