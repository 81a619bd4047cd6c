import { EXPORT_BYTES_MAX, EXPORT_LINKS_MAX } from '../../protocol/base/limits.js';
import { failed, ok, type Result } from '../../protocol/base/result.js';
import type { Viewer } from '../../protocol/base/viewer.js';
import type { RecordImage, RecordPlace } from '../../protocol/kinds/record.js';
import type { Link } from '../../protocol/links/link.js';
import type { MemoryRow } from '../../protocol/memory/memory.js';
import type { LeftOut } from '../../protocol/memory/queries.js';
import type { ReadServices } from '../pipeline/call.js';
import type { ExportCursor, RowCursor } from './export-cursor.js';

/**
 * A page of an export: memories, and the links that begin at them; after the last memory, the records. A viewer with a token for
 * some namespaces may read no records, so it gets none.
 */
export interface ExportPage extends LeftOut {
  readonly memories: readonly MemoryRow[];
  readonly links: readonly Link[];
  readonly records: readonly RecordImage[];
  /** Null after the last page. */
  readonly next: ExportCursor | null;
}

export interface PageRequest {
  readonly viewer: Viewer;
  /** A namespace or subtree; null for everything. */
  readonly namespace: string | null;
  readonly now: string;
  readonly cursor: ExportCursor | null;
  readonly limit: number;
}

/**
 * Reads a page. Places never change, so a row that exists during the whole export appears in exactly one page while
 * others write. Where one page's memories have too many links, the next pages have only links.
 */
export async function exportPage(services: ReadServices, request: PageRequest): Promise<Result<ExportPage>> {
  const { cursor, viewer } = request;
  const isPart = viewer.within !== undefined;
  if (cursor !== null && 'record' in cursor) {
    if (isPart) return ok({ ...NO_ROWS, records: [], next: null });
    return recordPage(services, request, NO_ROWS, cursor.record);
  }
  const rows = await rowPage(services, request, cursor);
  if (!rows.ok || rows.value.next !== null || isPart) return rows;
  return recordPage(services, request, rows.value, null);
}

const NO_ROWS = { memories: [], links: [] };

/** The same page with records after a place. */
async function recordPage(
  services: ReadServices,
  { viewer, limit, namespace }: PageRequest,
  rows: Omit<ExportPage, 'records' | 'next'>,
  after: RecordPlace | null,
): Promise<Result<ExportPage>> {
  const { withheld } = viewer;
  const asked = { namespace, after, limit, bytesMax: EXPORT_BYTES_MAX, withheld };
  const query = { kind: 'export-records', ...asked } as const;
  const page = await services.store.query(query);
  if (!page.ok) return failed(page.error);
  const { records, more, last } = page.value;
  const next = more && last !== null ? { record: last } : null;
  const damaged = [...(rows.damaged ?? []), ...(page.value.damaged ?? [])];
  return ok({ ...rows, records, next, ...(damaged.length === 0 ? {} : { damaged }) });
}

async function rowPage(
  services: ReadServices,
  { viewer, namespace, now, limit }: PageRequest,
  cursor: RowCursor | null,
): Promise<Result<ExportPage>> {
  const after = cursor?.memory ?? null;
  let memories: readonly MemoryRow[] = [];
  let more = true;
  let last = after;
  let leftOut: LeftOut = {};
  if (cursor === null || cursor.link === null) {
    const bytesMax = EXPORT_BYTES_MAX;
    const query = { kind: 'export-memories', viewer, namespace, now, after, limit, bytesMax } as const;
    const page = await services.store.query(query);
    if (!page.ok) return failed(page.error);
    ({ memories, more } = page.value);
    leftOut = page.value;
    last = page.value.last ?? after;
  }
  const linksAfter = cursor?.link ?? (after === null ? null : { ...after, link: null });
  const links = await services.store.query({
    kind: 'export-links',
    viewer,
    namespace,
    now,
    after: linksAfter,
    until: last,
    limit: EXPORT_LINKS_MAX,
  });
  if (!links.ok) return failed(links.error);
  const moreLinks = links.value.next;
  const next = last !== null && (more || moreLinks !== null) ? { memory: last, link: moreLinks } : null;
  const { damaged } = leftOut;
  const found = { memories, links: links.value.links, records: [], next };
  return ok(damaged === undefined ? found : { ...found, damaged });
}
