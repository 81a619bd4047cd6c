import { PAGE_BYTES_MAX } from '../../protocol/limits.js';
import type { MemoryRow } from '../../protocol/memory.js';
import { memoryFromSql, type SqlRow } from './rows.js';

export interface RowPage {
  readonly rows: readonly MemoryRow[];
  /** True when a further row would have gone over the limit; it and what follows was not read. */
  readonly truncated: boolean;
}

/** Columns that hold text of any length. */
const TEXTS = [
  'content',
  'metadata',
  'citations',
  'source_uri',
  'confidence_signals',
  'title',
  'tags',
  'seen',
] as const;

/**
 * Takes rows from an open cursor until their text would be more than a page holds; the first row always comes. The
 * limit stands here, before rows become objects, because a thousand of the largest rows are 110 MB.
 */
export function readPage(cursor: Iterable<SqlRow>, bytesMax = PAGE_BYTES_MAX): RowPage {
  const rows: MemoryRow[] = [];
  let bytes = 0;
  for (const row of cursor) {
    for (const column of TEXTS) {
      const text = row[column];
      if (typeof text === 'string') bytes += Buffer.byteLength(text);
    }
    if (bytes > bytesMax && rows.length > 0) return { rows, truncated: true };
    rows.push(memoryFromSql(row));
  }
  return { rows, truncated: false };
}
