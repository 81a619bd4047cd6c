import { clip, displayWidth, oneLine, pad, shortInstant } from './text.js';

type Row = Readonly<Record<string, unknown>>;

const SHORT_ID_LENGTH = 8;
const NAMESPACE_COLUMNS_MAX = 24;
const TITLE_COLUMNS_MIN = 12;
/** Below this width, instants become days and namespaces are cut shorter. */
const NARROW_COLUMNS = 80;
const NARROW_NAMESPACE_COLUMNS_MAX = 12;
const DAY_LENGTH = 10;
const GAP = '  ';

/** Rows as a table that fits the terminal; `snippets` adds the beginning of each row's content under it. */
export function memoriesView(
  answer: Row,
  rows: readonly Row[],
  options: { readonly columns: number; readonly snippets: boolean },
): string {
  const mode = typeof answer['mode'] === 'string' ? `, ${answer['mode']} recall` : '';
  const note = typeof answer['note'] === 'string' ? `${oneLine(answer['note'])}\n` : '';
  if (rows.length === 0) return `no memories found${mode}\n${note}`;
  const narrow = options.columns < NARROW_COLUMNS;
  const { heads, cells } = columnsOf(rows, narrow);
  const fixed = heads
    .slice(0, -1)
    .map((head, column) => Math.max(head.length, ...cells.map((line) => displayWidth(line[column]!))));
  const before = fixed.reduce((sum, width) => sum + width + GAP.length, 0);
  const titleColumns = Math.max(TITLE_COLUMNS_MIN, options.columns - before);
  const line = (texts: readonly string[]) =>
    [...fixed.map((width, column) => pad(texts[column]!, width)), clip(texts.at(-1)!, titleColumns)]
      .join(GAP)
      .trimEnd();
  const lines = [line(heads)];
  for (const [index, texts] of cells.entries()) {
    lines.push(line(texts));
    if (options.snippets) lines.push(snippet(rows[index]!, options.columns));
  }
  lines.push('', `${rows.length} ${rows.length === 1 ? 'memory' : 'memories'}${mode}`);
  return `${lines.join('\n')}\n${note}`;
}

interface Column {
  readonly head: string;
  readonly cell: (row: Row) => string;
}

/**
 * The columns before the title: the score of a recall, the time and reason of an archive, or the time of the last
 * write.
 */
function columnsOf(rows: readonly Row[], narrow: boolean): { heads: string[]; cells: string[][] } {
  const text = (head: string, field: string): Column => ({
    head,
    cell: (row) => oneLine(String(row[field])),
  });
  const instant = (head: string, field: string): Column => ({
    head,
    cell: (row) => shortInstant(row[field]).slice(0, narrow ? DAY_LENGTH : undefined),
  });
  const isScored = rows.some((row) => typeof row['score'] === 'number');
  const isArchive = rows.some((row) => typeof row['archived_at'] === 'string');
  const namespaceColumns = narrow ? NARROW_NAMESPACE_COLUMNS_MAX : NAMESPACE_COLUMNS_MAX;
  const columns: Column[] = [
    { head: 'ID', cell: (row) => oneLine(String(row['id'])).slice(0, SHORT_ID_LENGTH) },
  ];
  if (isArchive) columns.push(instant('ARCHIVED', 'archived_at'), text('REASON', 'archive_reason'));
  else if (isScored) columns.push({ head: 'SCORE', cell: (row) => Number(row['score']).toFixed(3) });
  else columns.push(instant('UPDATED', 'updated_at'));
  if (!(isArchive && narrow)) columns.push(text('TIER', 'tier'));
  columns.push(
    { head: 'NAMESPACE', cell: (row) => clip(oneLine(String(row['namespace'])), namespaceColumns) },
    text('TITLE', 'title'),
  );
  return {
    heads: columns.map(({ head }) => head),
    cells: rows.map((row) => columns.map(({ cell }) => cell(row))),
  };
}

function snippet(row: Row, columns: number): string {
  const indent = ' '.repeat(SHORT_ID_LENGTH + GAP.length);
  return (
    indent + clip(oneLine(String(row['content'] ?? '')), Math.max(TITLE_COLUMNS_MIN, columns - indent.length))
  );
}
