import { pipeline, Readable } from 'node:stream';
import type { Info } from 'csv-parse';

/** A record of a table, by the names of its header, and the line on which it ends. */
export interface CsvRecord {
  readonly line: number;
  readonly members: Readonly<Record<string, string>>;
}

/** What is wrong with a table, in words. */
export class CsvProblem extends Error {}

const RECORD_CHARACTERS_MAX = 16 * 1024 * 1024;
const DELIMITERS = [',', ';', '\t'] as const;

/** The delimiter of a table: the one that its first line has most often outside quotes. */
export function delimiterOf(text: string): string {
  const line = (text.split(/\r?\n/, 1)[0] ?? '').replace(/"[^"]*"/g, '');
  const counts = DELIMITERS.map((delimiter) => line.split(delimiter).length);
  return DELIMITERS[counts.indexOf(Math.max(...counts))]!;
}

/** The names of a header, as members of a record have them. */
export const headerNames = (names: readonly string[]): string[] =>
  names.map((name) => name.trim().toLowerCase().replace(/\s+/g, '_'));

/** Reads a table (RFC 4180) record by record. Throws CsvProblem where it is none. The parser is loaded with the first one. */
export async function* csvRecords(
  bytes: AsyncIterable<Uint8Array>,
  delimiter: string,
): AsyncGenerator<CsvRecord> {
  const { CsvError, parse } = await import('csv-parse');
  const parser = parse({
    ...{ bom: true, delimiter, info: true, relax_column_count: true, skip_empty_lines: true },
    max_record_size: RECORD_CHARACTERS_MAX,
    columns: headerNames,
  });
  // A source that cannot be read ends the parser with its error, which the loop below throws.
  pipeline(Readable.from(bytes, { objectMode: false }), parser, () => undefined);
  try {
    for await (const { record, info } of parser as AsyncIterable<{
      readonly record: Record<string, string>;
      readonly info: Info;
    }>) {
      yield { line: info.lines, members: record };
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new CsvProblem(error.message);
  }
}
