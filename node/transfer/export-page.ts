import { EXPORT_BYTES_MAX, EXPORT_LINKS_MAX } from '../../protocol/limits.js';
import type { Link } from '../../protocol/link.js';
import type { MemoryRow } from '../../protocol/memory.js';
import type { LeftOut } from '../../protocol/queries.js';
import type { Viewer } from '../../protocol/ranking/types.js';
import { failed, ok, type Result } from '../../protocol/result.js';
import type { ReadServices } from '../pipeline/call.js';
import type { ExportCursor } from './export-cursor.js';

/** A page of an export: memories, and the links that begin at them. */
export interface ExportPage extends LeftOut {
  readonly memories: readonly MemoryRow[];
  readonly links: readonly Link[];
  /** Null after the last page. */
  readonly next: ExportCursor | null;
}

export interface PageRequest {
  readonly viewer: Viewer;
  readonly now: string;
  readonly cursor: ExportCursor | null;
  readonly limit: number;
}

/**
 * Reads a page. Places never change, so whatever exists during the whole export appears in exactly one page while others
 * write. Where one page's memories have too many links, the next pages bring links alone.
 */
export async function exportPage(services: ReadServices, request: PageRequest): Promise<Result<ExportPage>> {
  const { viewer, now, cursor, limit } = request;
  const after = cursor?.memory ?? null;
  let memories: readonly MemoryRow[] = [];
  let more = true;
  let last = after;
  let leftOut: LeftOut = {};
  if (cursor === null || cursor.link === null) {
    const bytesMax = EXPORT_BYTES_MAX;
    const page = await services.store.query({ kind: 'export-memories', viewer, now, after, limit, bytesMax });
    if (!page.ok) return failed(page.error);
    ({ memories, more } = page.value);
    leftOut = page.value;
    last = page.value.last ?? after;
  }
  const linksAfter = cursor?.link ?? (after === null ? null : { ...after, link: null });
  const links = await services.store.query({
    kind: 'export-links',
    viewer,
    now,
    after: linksAfter,
    until: last,
    limit: EXPORT_LINKS_MAX,
  });
  if (!links.ok) return failed(links.error);
  const moreLinks = links.value.next;
  const next = last !== null && (more || moreLinks !== null) ? { memory: last, link: moreLinks } : null;
  const { damaged } = leftOut;
  const found = { memories, links: links.value.links, next };
  return ok(damaged === undefined ? found : { ...found, damaged });
}
