import { systemCrypto } from '../../../node/seams.js';
import type { SourceFile } from '../../mine/source-file.js';
import { isObject, lineValues, listValues, UNREADABLE } from '../../mine/text-of.js';
import type { ForeignFormat, SourceRow, Tell } from '../format.js';
import { headOf, LIST_NAMES } from '../source-head.js';
import { hasContent, rowOf } from './rows.js';

/** JSON Lines, or a JSON list of rows. */
export const jsonLines: ForeignFormat = {
  name: 'jsonl',
  isOf: ({ first, lines }) => (isObject(first) && hasContent(first)) || lines.some(hasContent),
  read: rowsOf,
};

async function* rowsOf(file: SourceFile, tell: Tell): AsyncGenerator<SourceRow> {
  let count = 0;
  for await (const value of valuesOf(file, tell)) {
    count += 1;
    if (value === UNREADABLE) continue;
    const row = isObject(value) ? rowOf(value, `${file.path}#${count}`, systemCrypto.sha256Hex) : null;
    if (row === null) tell(`row ${count} has no text: left out`);
    else yield row;
  }
}

/** The values of a file: the elements of its list where it is one JSON document, else one for each line. */
export async function* valuesOf(file: SourceFile, tell: Tell): AsyncGenerator<unknown> {
  const { first, lines } = await headOf(file);
  const isDocument = first !== undefined && !(lines.length > 0 && lines.some(hasContent) && !isObject(first));
  if (isDocument && !startsWithLine(lines, first))
    yield* listValues(file, { lists: LIST_NAMES, what: 'row' }, tell);
  else yield* lineValues(file, tell);
}

/** True where the list was found inside the first line, so that each line is a row. */
const startsWithLine = (lines: readonly unknown[], first: unknown): boolean =>
  lines.length > 1 && !lines.includes(first) && isObject(lines[0]) && hasContent(lines[0]);
