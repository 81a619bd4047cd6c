import { clip, displayWidth, oneLine, pad, shortInstant, wrapLines } from './text.js';

type Row = Readonly<Record<string, unknown>>;

const SHORT_ID_LENGTH = 8;
const NAMESPACE_COLUMNS_MAX = 24;
const TITLE_COLUMNS_MIN = 12;
/** Below this width, instants become days and namespaces are cut shorter. */
const NARROW_COLUMNS = 80;
const NARROW_NAMESPACE_COLUMNS_MAX = 12;
const DAY_LENGTH = 10;
const GAP = '  ';

/** What stands under each row: its text as far as the answer has it, one line of it, or nothing. */
type Texts = 'all' | 'line' | 'none';

/** Rows as a table that fits the terminal, with their texts. The standards of a recall stand below the table, by their titles. */
export function memoriesView(
  answer: Row,
  rows: readonly Row[],
  { columns, texts: shown }: { readonly columns: number; readonly texts: Texts },
): string {
  const standards = standardLines(answer, columns);
  const mode = typeof answer['mode'] === 'string' ? `, ${answer['mode']} recall` : '';
  const note = typeof answer['note'] === 'string' ? [oneLine(answer['note'])] : [];
  if (rows.length === 0)
    return `${[`no memories found${mode}${belowOf(answer)}`, ...note, ...standards].join('\n')}\n`;
  const narrow = columns < NARROW_COLUMNS;
  const { heads, cells } = columnsOf(rows, narrow);
  const fixed = heads
    .slice(0, -1)
    .map((head, column) => Math.max(head.length, ...cells.map((line) => displayWidth(line[column]!))));
  const before = fixed.reduce((sum, width) => sum + width + GAP.length, 0);
  const titleColumns = Math.max(TITLE_COLUMNS_MIN, columns - before);
  const line = (texts: readonly string[]) =>
    [...fixed.map((width, column) => pad(texts[column]!, width)), clip(texts.at(-1)!, titleColumns)]
      .join(GAP)
      .trimEnd();
  const lines = [line(heads)];
  for (const [index, texts] of cells.entries()) {
    lines.push(line(texts));
    if (shown !== 'none') lines.push(...textLines(rows[index]!, columns, shown));
  }
  const more =
    typeof answer['next_cursor'] === 'string' ? [`more follow: --cursor ${answer['next_cursor']}`] : [];
  const cut = rows.some(({ passage }) => passage !== undefined) && shown === 'all' ? [HOW_TO_READ_ON] : [];
  const total = `${rows.length} ${rows.length === 1 ? 'memory' : 'memories'}${mode}`;
  lines.push('', total, ...more, ...cut, ...note, ...standards);
  const flagged = rows.filter((row) => row['near_duplicates'] !== undefined).length;
  if (flagged > 0) lines.push(`${flagged} of them nearly the same as another memory: "get" names it`);
  return `${lines.join('\n')}\n`;
}

function standardLines({ standard, standards }: Row, columns: number): readonly string[] {
  const all = [...(standard === undefined ? [] : [standard]), ...((standards ?? []) as Row[])] as Row[];
  return all.map(({ namespace, title }) => clip(oneLine(`standard of ${namespace}: ${title}`), columns));
}

/** Where the memories are, when the named namespace has none. */
function belowOf(answer: Row): string {
  const below = answer['namespaces_below'];
  const meant = answer['namespace_meant'];
  if (typeof meant === 'string') return ` in this namespace; there are some in ${oneLine(meant)}`;
  if (!Array.isArray(below)) return '';
  return ` in this namespace; there are some in ${below.map((name) => oneLine(String(name))).join(', ')}: write "/**" after the namespace to cover those below it`;
}

/** What a row says of a memory that does not hold now. */
const lapsed = ({ validity }: Row): string =>
  validity === undefined ? '' : ` (${validity === 'ended' ? 'ended' : 'not begun'})`;

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
    { head: 'TITLE', cell: (row) => oneLine(`${row['title']}${lapsed(row)}`) },
  );
  return {
    heads: columns.map(({ head }) => head),
    cells: rows.map((row) => columns.map(({ cell }) => cell(row))),
  };
}

const HOW_TO_READ_ON = '[+n] counts the characters left out: "get" shows the whole text';

function textLines(row: Row, columns: number, shown: Texts): string[] {
  const indent = ' '.repeat(SHORT_ID_LENGTH + GAP.length);
  const text = String(row['passage'] ?? row['content'] ?? '').trim();
  const width = Math.max(TITLE_COLUMNS_MIN, columns - indent.length);
  const lines = shown === 'line' ? [clip(oneLine(text), width)] : wrapLines(text, width);
  return lines.map((line) => (indent + line).trimEnd());
}
