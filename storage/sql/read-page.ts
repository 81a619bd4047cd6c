import { PAGE_BYTES_MAX } from '../../protocol/base/limits.js';
import type { MemoryRow } from '../../protocol/memory/memory.js';
import { PageRows, type SqlRow } from './rows.js';

export interface RowPage {
  readonly rows: readonly MemoryRow[];
  /** True when the next row would exceed the limit; that row and later ones were not read. */
  readonly truncated: boolean;
  /** Rows that were examined, also those that cannot be read. */
  readonly looked: number;
  /** The last of them where a further one follows. */
  readonly end: SqlRow | null;
  /** Ids of rows that are left out because they cannot be read; absent when every row can be read. */
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
 * Takes rows from an open cursor until they are enough, or their text would exceed a page; the first row is always taken. The limit applies
 * before rows become objects, because a thousand of the largest rows are 110 MB.
 */
export function readPage(
  cursor: Iterable<SqlRow>,
  { bytesMax = PAGE_BYTES_MAX, rowsMax = Number.POSITIVE_INFINITY } = {},
): RowPage {
  const page = new PageRows();
  let bytes = 0;
  let last: SqlRow | null = null;
  for (const row of cursor) {
    if (page.looked >= rowsMax) return pageOf(page, false, last);
    for (const column of TEXTS) {
      const text = row[column];
      if (typeof text === 'string') bytes += Buffer.byteLength(text);
    }
    if (bytes > bytesMax && page.rows.length > 0) return pageOf(page, true, last);
    page.take(row);
    last = row;
  }
  return pageOf(page, false, null);
}

const pageOf = ({ rows, looked, leftOut }: PageRows, truncated: boolean, end: SqlRow | null): RowPage => ({
  rows,
  truncated,
  looked,
  end,
  ...leftOut,
});
