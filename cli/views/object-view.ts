import { type Columns, cellText, tableLines } from './table.js';
import { oneLine, pad } from './text.js';

type Fields = Readonly<Record<string, unknown>>;

export interface ObjectViewOptions {
  /** Characters per line. */
  readonly columns: number;
  /** The columns of lists of rows; all fields by default. */
  readonly table?: Columns | undefined;
}

/** Any answer as lines of name and value. A list of rows is a table if it fits, otherwise a block for each row. */
export function objectView(answer: Fields, options: ObjectViewOptions = { columns: 100 }): string {
  return `${linesOf(answer, '', options).join('\n')}\n`;
}

function linesOf(fields: Fields, indent: string, options: ObjectViewOptions): string[] {
  const shown = Object.entries(fields).filter(([, value]) => value !== undefined);
  const width = Math.max(0, ...shown.filter(([, value]) => isPlain(value)).map(([name]) => name.length)) + 2;
  return shown.flatMap(([name, value]) => {
    const label = name.replaceAll('_', ' ');
    if (Array.isArray(value) && value.length > 0) {
      return [indent + label, ...listLines(value, `${indent}  `, options)];
    }
    if (!isPlain(value)) return [indent + label, ...linesOf(value as Fields, `${indent}  `, options)];
    return [`${indent}${pad(label, width)}${plainText(value)}`];
  });
}

/** True for a value that fits on the line of its name: not a list with members, not an object with fields. */
function isPlain(value: unknown): boolean {
  return typeof value !== 'object' || value === null || Object.keys(value).length === 0;
}

function plainText(value: unknown): string {
  if (value === null) return '-';
  return typeof value === 'object' ? 'none' : oneLine(String(value));
}

function listLines(list: readonly unknown[], indent: string, options: ObjectViewOptions): string[] {
  const isRow = (item: unknown) => typeof item === 'object' && item !== null && !Array.isArray(item);
  if (!list.every(isRow)) return list.map((item) => indent + cellText(item));
  const rows = list as readonly Fields[];
  const table = tableLines(rows, options.columns - indent.length, options.table);
  if (table !== null) return table.map((line) => indent + line);
  return rows.flatMap((row, index) => [...(index > 0 ? [''] : []), ...linesOf(row, indent, options)]);
}
