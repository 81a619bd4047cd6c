import { clip, displayWidth, oneLine, pad, shortInstant } from './text.js';

type Row = Readonly<Record<string, unknown>>;

/** Fields of a list's rows as columns for people: field to head, in order. */
export type Columns = Readonly<Record<string, string>>;

const GAP = '  ';
/** The minimum width of a column that is cut. */
const COLUMN_WIDTH_MIN = 12;
const SHORT_ID_LENGTH = 8;
const DAY_LENGTH = 10;
/** As `shortInstant` writes it. */
const INSTANT = /^\d{4}-\d\d-\d\d \d\d:\d\d$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * Rows as the lines of a table within a width: ids and instants are shortened and text is cut if necessary.
 * Columns without a value are left out. Null when the rows still do not fit.
 */
export function tableLines(rows: readonly Row[], columns: number, chosen?: Columns): string[] | null {
  const fields = chosen === undefined ? fieldsOf(rows) : Object.keys(chosen);
  const filled = fields.filter((field) => rows.some((row) => cellText(row[field]) !== ''));
  const heads = filled.map((field) => chosen?.[field] ?? field.replaceAll('_', ' ').toUpperCase());
  const whole = rows.map((row) => filled.map((field) => cellText(row[field])));
  if (filled.length === 0) return null;
  const isText = filled.map((field) => rows.some((row) => typeof row[field] !== 'number'));
  const short = whole.map((line) => line.map(shortId));
  for (const cells of [whole, short, short.map((line) => line.map(day))]) {
    const least = cells === whole || cells === short ? Number.POSITIVE_INFINITY : COLUMN_WIDTH_MIN;
    const widths = heads.map((head, column) => widest([head, ...cells.map((line) => line[column]!)]));
    if (shrink(widths, heads, isText, least, columns)) {
      return [heads, ...cells].map((line) => lineOf(line, widths, isText));
    }
  }
  return null;
}

/** Every field that some row has, in the order in which they first appear. */
function fieldsOf(rows: readonly Row[]): string[] {
  return [...new Set(rows.flatMap((row) => Object.keys(row)))];
}

/** A value in one line: instants to the minute, lists with commas, empty text for a missing value. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(cellText).join(', ');
  if (typeof value === 'object') return oneLine(JSON.stringify(value));
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return shortInstant(oneLine(String(value)));
}

const shortId = (text: string) => (UUID.test(text) ? text.slice(0, SHORT_ID_LENGTH) : text);
const day = (text: string) => (INSTANT.test(text) ? text.slice(0, DAY_LENGTH) : text);
const widest = (texts: readonly string[]) => Math.max(...texts.map(displayWidth));

/** Takes from the widest text column until all fit; false when they cannot. */
function shrink(
  widths: number[],
  heads: readonly string[],
  isText: readonly boolean[],
  least: number,
  columns: number,
): boolean {
  const total = () => widths.reduce((sum, width) => sum + width, 0) + GAP.length * (widths.length - 1);
  while (total() > columns) {
    const spare = widths.map((width, column) =>
      isText[column] ? width - Math.max(least, displayWidth(heads[column]!)) : 0,
    );
    const widestColumn = spare.indexOf(Math.max(...spare));
    if (!(spare[widestColumn]! > 0)) return false;
    widths[widestColumn]! -= 1;
  }
  return true;
}

function lineOf(texts: readonly string[], widths: readonly number[], isText: readonly boolean[]): string {
  return texts
    .map((text, column) => {
      const width = widths[column]!;
      if (isText[column]) return pad(clip(text, width), width);
      return ' '.repeat(Math.max(0, width - displayWidth(text))) + text;
    })
    .join(GAP)
    .trimEnd();
}
