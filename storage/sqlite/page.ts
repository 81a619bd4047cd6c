import { PAGE_BYTES_MAX } from '../../protocol/limits.js';
import type { MemoryRow } from '../../protocol/memory/memory.js';
import { PageRows, type SqlRow } from './rows.js';

export interface RowPage {
  readonly rows: readonly MemoryRow[];
  /** True when a further row would have gone over the limit; it and what follows was not read. */
  readonly truncated: boolean;
  /** Rows that were looked at, those that cannot be read included. */
  readonly looked: number;
  /** Ids of rows that cannot be read and are left out; absent where there are none. */
  readonly damaged?: readonly string[];
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
  const page = new PageRows();
  let bytes = 0;
  for (const row of cursor) {
    for (const column of TEXTS) {
      const text = row[column];
      if (typeof text === 'string') bytes += Buffer.byteLength(text);
    }
    if (bytes > bytesMax && page.rows.length > 0) return pageOf(page, true);
    page.take(row);
  }
  return pageOf(page, false);
}

const pageOf = ({ rows, looked, leftOut }: PageRows, truncated: boolean): RowPage => ({
  rows,
  truncated,
  looked,
  ...leftOut,
});
