import { systemCrypto } from '../../../node/seams.js';
import { CsvProblem, csvRecords, delimiterOf, headerNames } from '../../../node/transfer/csv-records.js';
import { UnreadableError } from '../../mine/text-of.js';
import type { ForeignFormat, Head } from '../format.js';
import { headOf } from '../source-head.js';
import { namesContent, rowOf } from './rows.js';

/** A table with a header; commas, semicolons or tabs stand between its columns. */
export const csv: ForeignFormat = {
  name: 'csv',
  isOf: ({ path, text }: Head) => {
    if (/^\s*[[{]/.test(text)) return false;
    const first = text.split(/\r?\n/, 1)[0] ?? '';
    const names = headerNames(first.split(delimiterOf(text)).map((name) => name.replace(/^"|"$/g, '')));
    return namesContent(names) && (names.length > 1 || /\.(csv|tsv)$/i.test(path));
  },
  async *read(file, tell) {
    const { text } = await headOf(file);
    try {
      for await (const { line, members, extra } of csvRecords(file.read(), delimiterOf(text))) {
        if (extra > 0) {
          const values = `${extra} more ${extra === 1 ? 'value' : 'values'} than the header has columns`;
          tell(`line ${line} has ${values}: left out, put a text with a delimiter into quotes`);
          continue;
        }
        const row = rowOf(members, `${file.path}:${line}`, systemCrypto.sha256Hex);
        if (row === null) tell(`line ${line} has no text: left out`);
        else yield row;
      }
    } catch (error) {
      if (error instanceof CsvProblem) throw new UnreadableError(`is no table: ${error.message}`);
      throw error;
    }
  },
};
