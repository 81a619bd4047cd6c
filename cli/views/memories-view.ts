import { clip, displayWidth, oneLine, pad, shortInstant } from './text.js';

type Row = Readonly<Record<string, unknown>>;

const SHORT_ID_LENGTH = 8;
const NAMESPACE_COLUMNS_MAX = 24;
const TITLE_COLUMNS_MIN = 16;
const GAP = '  ';

/** Rows as a table that fits the terminal; `snippets` adds the beginning of each row's content under it. */
export function memoriesView(
  answer: Row,
  rows: readonly Row[],
  options: { readonly columns: number; readonly snippets: boolean },
): string {
  if (rows.length === 0) return 'no memories found\n';
  const scored = rows.some((row) => typeof row['score'] === 'number');
  const heads = ['ID', scored ? 'SCORE' : 'UPDATED', 'TIER', 'NAMESPACE', 'TITLE'];
  const cells = rows.map((row) => [
    oneLine(String(row['id'])).slice(0, SHORT_ID_LENGTH),
    scored ? Number(row['score']).toFixed(3) : shortInstant(row['updated_at']),
    oneLine(String(row['tier'])),
    clip(oneLine(String(row['namespace'])), NAMESPACE_COLUMNS_MAX),
    oneLine(String(row['title'])),
  ]);
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
  const mode = typeof answer['mode'] === 'string' ? `, ${answer['mode']} recall` : '';
  lines.push('', `${rows.length} ${rows.length === 1 ? 'memory' : 'memories'}${mode}`);
  return `${lines.join('\n')}\n`;
}

function snippet(row: Row, columns: number): string {
  const indent = ' '.repeat(SHORT_ID_LENGTH + GAP.length);
  return (
    indent + clip(oneLine(String(row['content'] ?? '')), Math.max(TITLE_COLUMNS_MIN, columns - indent.length))
  );
}
