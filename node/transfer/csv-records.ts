import { pipeline, Readable } from 'node:stream';
import { TextDecoder } from 'node:util';
import type { Info } from 'csv-parse';

/** A record of a table, by the names of its header, and the line on which it ends. */
export interface CsvRecord {
  readonly line: number;
  readonly members: Readonly<Record<string, string>>;
  /** Values beyond the columns of the header, as an unquoted delimiter in a text makes them. */
  readonly extra: number;
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

/** The names of a header, as members of a record have them: a second column of one name gets a number. */
export function headerNames(header: readonly string[]): string[] {
  const taken = new Set<string>();
  return header.map((written) => {
    const name = written.trim().toLowerCase().replace(/\s+/g, '_');
    let free = name;
    for (let number = 2; taken.has(free); number += 1) free = `${name}_${number}`;
    taken.add(free);
    return free;
  });
}

/** Reads a table (RFC 4180) record by record. Throws CsvProblem where it is none. The parser is loaded with the first one. */
export async function* csvRecords(
  bytes: AsyncIterable<Uint8Array>,
  delimiter: string,
): AsyncGenerator<CsvRecord> {
  const { CsvError, parse } = await import('csv-parse');
  const parser = parse({
    ...{ bom: true, delimiter, info: true, relax_column_count: true, skip_empty_lines: true },
    max_record_size: RECORD_CHARACTERS_MAX,
  });
  // A source that cannot be read ends the parser with its error, which the loop below throws.
  pipeline(Readable.from(textOf(bytes), { objectMode: false }), parser, () => undefined);
  let names: readonly string[] | null = null;
  try {
    for await (const { record, info } of parser as AsyncIterable<{
      readonly record: readonly string[];
      readonly info: Info;
    }>) {
      if (names === null) {
        names = headerNames(record);
        continue;
      }
      const members = Object.fromEntries(names.map((name, index) => [name, record[index] ?? '']));
      yield { line: info.lines, members, extra: Math.max(0, record.length - names.length) };
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new CsvProblem(error.message);
  }
}

/** The parser would put marks in the place of what is not UTF-8. */
async function* textOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const decoded = (piece?: Uint8Array) => {
    try {
      return decoder.decode(piece, { stream: piece !== undefined });
    } catch {
      throw new CsvProblem('it is not valid UTF-8');
    }
  };
  for await (const piece of bytes) {
    const text = decoded(piece);
    if (text !== '') yield text;
  }
  decoded();
}
