/**
 * TOON, the row format of list answers: a line of counts, a header with the columns, then the rows (reference-mcp-cli §5.3).
 * A row begins at the start of a line; the text in its last column keeps its lines, and each further one begins with two
 * spaces. It is this service's own small format, not the format of the npm library with that name.
 */

import { escapeUnprintable, UNPRINTABLE } from '../../protocol/base/unprintable.js';

type Json = Readonly<Record<string, unknown>>;

/**
 * `note` says why a recall searched by words only, `cut` how to read what the passages leave out. `truncated` and `next_offset` appear only in an answer that the byte limit
 * ended early, and `next_cursor` where more rows follow; nothing is cut silently.
 */
const META = [
  'count',
  'mode',
  'note',
  'tokens_used',
  'budget_tokens',
  'truncated',
  'next_offset',
  'next_cursor',
  'standards_omitted',
  'namespaces_below',
  'namespace_meant',
  'cut',
] as const;
const HOW_TO_READ_ON =
  '[+n] at the end of a text counts the characters left out, and memory_get reads them; the others are whole';
const STANDARD_COLUMNS = ['id', 'title', 'content'] as const;
const COLUMNS = [
  'id',
  'title',
  'tier',
  'namespace',
  'priority',
  'confidence',
  'score',
  'access_count',
  'tags',
  'source',
  'created_at',
  'updated_at',
  'metadata',
] as const;
const COMPACT_COLUMNS = [
  'id',
  'title',
  'tier',
  'namespace',
  'priority',
  'score',
  'tags',
  'agent_id',
] as const;

/**
 * Renders the rows of an answer. Search results use the same `memories` header as memories; `meta`, `links` and
 * `recall_id` are not part of the format, and a text only where the caller asked for one. Every line ends with a line
 * feed, and no value begins a row or another value.
 */
export function toon(
  answer: Record<string, unknown>,
  rowsKey: 'memories' | 'results',
  compact: boolean,
  /** The member of a row that is its text, as the last column. */
  textColumn: 'passage' | 'content' | null = null,
): string {
  const rows = objectsOf(answer[rowsKey]);
  const columns = [
    ...(compact ? COMPACT_COLUMNS : COLUMNS),
    // Most answers have no row that has ended.
    ...(rows.some(({ validity }) => validity !== undefined) ? ['validity'] : []),
    ...(textColumn === null ? [] : [textColumn]),
  ];
  const cut = textColumn === 'passage' && rows.some(({ passage }) => passage !== undefined);
  let text = metaLine(cut ? { ...answer, cut: HOW_TO_READ_ON } : answer);
  const standards = standardsOf(answer);
  if (standards.length > 0) {
    text += `standards[${STANDARD_COLUMNS.join('|')}]:\n${rowLines(standards, STANDARD_COLUMNS, 'content')}`;
  }
  return `${text}memories[${columns.join('|')}]:\n${rowLines(rows, columns, textColumn)}`;
}

function metaLine(answer: Json): string {
  const present = META.filter((key) => answer[key] !== undefined && answer[key] !== null);
  return present.length === 0 ? '' : `${present.map((key) => `${key}:${metaText(answer[key])}`).join('|')}\n`;
}

/** Booleans are words in this line. */
const metaText = (value: unknown): string => (typeof value === 'boolean' ? String(value) : cell(value));

function standardsOf(answer: Json): Json[] {
  return [...objectsOf([answer['standard']]), ...objectsOf(answer['standards'])];
}

function objectsOf(value: unknown): Json[] {
  if (!Array.isArray(value)) return [];
  return value.filter((item) => typeof item === 'object' && item !== null) as Json[];
}

/** The text column is the last one of a row, so nothing in it can be taken for a further value. */
function rowLines(rows: readonly Json[], columns: readonly string[], textColumn: string | null): string {
  const value = (row: Json, column: string) =>
    // A text that is shown whole is no passage.
    column === textColumn
      ? textLines(String(row[column] ?? row['content'] ?? ''))
      : cell(columnValue(row, column));
  return rows.map((row) => `${columns.map((column) => value(row, column)).join('|')}\n`).join('');
}

/** The agent is in the metadata of a row. */
function columnValue(row: Json, column: string): unknown {
  if (column !== 'agent_id') return row[column];
  const metadata = row['metadata'];
  return typeof metadata === 'object' && metadata !== null ? (metadata as Json)['agent_id'] : undefined;
}

function cell(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return escapeText(value);
  if (typeof value === 'number') return JSON.stringify(value);
  if (typeof value === 'boolean') return value ? '1' : '0';
  if (Array.isArray(value)) {
    const texts = value.filter((item) => typeof item === 'string');
    return texts.map((text) => escapeText(text).replaceAll(',', '\\,')).join(',');
  }
  const json = JSON.stringify(value);
  return json === '{}' ? '' : escapeText(json);
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '|': '\\|',
  '\n': '\\n',
  '\r': '\\r',
};

/** A text that ends no value and no line, and that a terminal shows in its order. */
function escapeText(text: string): string {
  return escapeUnprintable(
    text.replace(/[\\|\n\r]/g, (character) => ESCAPES[character]!),
    '\t',
  );
}

/** A backslash that could be taken for the beginning of an escape, and what is escaped. */
const ESCAPED = new RegExp(`\\\\(?=[\\\\u]|${UNPRINTABLE.source})|${UNPRINTABLE.source}`, 'gu');

/**
 * A text as it is, line by line. Only what ends a line for some reader, or turns the direction of the text, is `\u` with four
 * hex digits, and a backslash before such an escape, a `u` or a backslash is two.
 */
function textLines(text: string): string {
  return text
    .split(/\r?\n/)
    .map((line) =>
      line.replaceAll(ESCAPED, (found) => (found === '\\' ? '\\\\' : escapeUnprintable(found, '\t'))),
    )
    .join('\n  ');
}
