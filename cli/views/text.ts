import { escapeUnprintable } from '../../protocol/base/unprintable.js';

/** The text with escapes for all that a terminal would obey. A stored text must not steer the reader's terminal. */
export function printable(text: string): string {
  return escapeUnprintable(text.replace(/\r\n/g, '\n'), '\n\t');
}

/** The text on one line. */
export function oneLine(text: string): string {
  return printable(text).replace(/\s+/g, ' ').trim();
}

/** Columns that text takes on a terminal: two for wide characters, zero for combining marks. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

const MARK = /^(\p{Mn}|\p{Me}|\p{Cf})$/u;

function characterWidth(character: string): number {
  const code = character.codePointAt(0) as number;
  if (code < 0x300) return 1;
  if (MARK.test(character)) return 0;
  const wide =
    (code >= 0x1100 && code <= 0x115f) ||
    (code >= 0x2e80 && code <= 0xa4cf) ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xfe30 && code <= 0xfe6f) ||
    (code >= 0xff00 && code <= 0xff60) ||
    (code >= 0xffe0 && code <= 0xffe6) ||
    (code >= 0x1f300 && code <= 0x1faff) ||
    (code >= 0x20000 && code <= 0x3fffd);
  return wide ? 2 : 1;
}

/** The text cut to a number of columns, with an ellipsis where something was cut. */
export function clip(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  let kept = '';
  let width = 0;
  for (const character of text) {
    width += characterWidth(character);
    if (width > columns - 1) break;
    kept += character;
  }
  return `${kept}…`;
}

/** The text padded with spaces to a number of columns. */
export function pad(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - displayWidth(text)));
}

/** Breaks text at spaces into lines of at most this many columns. */
export function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && displayWidth(line) + 1 + displayWidth(word) > columns) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}

/** The lines of a text, each broken into lines of at most this many columns, which keep its indentation. */
export const wrapLines = (text: string, columns: number): string[] =>
  printable(text)
    .split('\n')
    .flatMap((line) => {
      if (displayWidth(line) <= columns) return [line];
      const words = line.trimStart();
      const indent = line.slice(0, Math.min(line.length - words.length, Math.floor(columns / 2)));
      const rest = columns - displayWidth(indent);
      return wrap(words, rest).flatMap((part) => inColumns(part, rest).map((shown) => indent + shown));
    });

/** A word that is wider than the columns, in pieces. */
function inColumns(line: string, columns: number): string[] {
  if (displayWidth(line) <= columns) return [line];
  const lines = [''];
  let width = 0;
  for (const character of line) {
    width += characterWidth(character);
    if (width > columns) {
      lines.push('');
      width = characterWidth(character);
    }
    lines[lines.length - 1] += character;
  }
  return lines;
}

/** An instant for people, to the minute and in UTC; other text unchanged. */
export function shortInstant(value: unknown): string {
  const text = String(value ?? '');
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) ? text.slice(0, 16).replace('T', ' ') : text;
}
