/** Which rows of a long list are in the document. */
export interface RowWindow {
  readonly first: number;
  /** One after the last. */
  readonly end: number;
  /** How far below the top of the list the first one stands, in pixels. */
  readonly offset: number;
  readonly height: number;
}

const ROWS_AROUND = 8;

/** The rows that show, and a few around them, so that scrolling finds them drawn. */
export function rowWindow(
  count: number,
  rowHeight: number,
  { scrollTop, height }: { readonly scrollTop: number; readonly height: number },
): RowWindow {
  const first = Math.min(count, Math.max(0, Math.floor(scrollTop / rowHeight) - ROWS_AROUND));
  const end = Math.min(count, Math.ceil((Math.max(0, scrollTop) + height) / rowHeight) + ROWS_AROUND);
  return { first, end: Math.max(first, end), offset: first * rowHeight, height: count * rowHeight };
}
