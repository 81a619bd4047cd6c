import { TextDecoder } from 'node:util';
import { isDeeperThan } from '../../node/http/json-body.js';
import { JsonItems } from '../json-items.js';
import type { SourceFile } from './source-file.js';

/** A file, or a part of it, that is not what it must be. */
export class UnreadableError extends Error {}

/** Longest line, and longest document that is read as a whole. */
export const LINE_BYTES_MAX = 16 * 1024 * 1024;
export const DOCUMENT_BYTES_MAX = 64 * 1024 * 1024;
const DEPTH_MAX = 256;

const decoder = new TextDecoder('utf-8', { fatal: true });

/** Text of bytes. Throws UnreadableError where they are not UTF-8. */
export function textOf(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new UnreadableError('is not valid UTF-8');
  }
}

/** A JSON value. Throws UnreadableError where the text is none, or nests too deeply. */
export function jsonOf(text: string): unknown {
  if (isDeeperThan(Buffer.from(text), DEPTH_MAX))
    throw new UnreadableError(`nests deeper than ${DEPTH_MAX} levels`);
  try {
    return JSON.parse(text);
  } catch {
    throw new UnreadableError('is not JSON');
  }
}

/** The bytes of a file, or its first ones. Throws UnreadableError where it has more than a document may have. */
export async function bytesOf(file: SourceFile, bytesMax?: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of file.read(bytesMax)) {
    pieces.push(piece);
    length += piece.length;
    if (length > DOCUMENT_BYTES_MAX)
      throw new UnreadableError(`is larger than ${DOCUMENT_BYTES_MAX / 1024 / 1024} MiB`);
    if (bytesMax !== undefined && length >= bytesMax) break;
  }
  return Buffer.concat(pieces).subarray(0, bytesMax);
}

/** A file that is one JSON document. */
export const documentOf = async (file: SourceFile): Promise<unknown> =>
  jsonOf(textOf(await bytesOf(file)).replace(/^\uFEFF/, ''));

const LINE_FEED = 0x0a;

/** The values of a file with one in each line. A line that cannot be read is told and left out. */
export async function* lineValues(
  file: SourceFile,
  tell: (problem: string) => void,
): AsyncGenerator<unknown> {
  for await (const { line, bytes } of linesOf(file)) {
    if (bytes === null) {
      tell(`line ${line} is longer than ${LINE_BYTES_MAX / 1024 / 1024} MiB: left out`);
      continue;
    }
    try {
      const text = textOf(bytes).trim();
      if (text !== '') yield jsonOf(text);
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error;
      tell(`line ${line} ${error.message}: left out`);
    }
  }
}

/** The lines of a file; null for one that is too long, of which nothing is kept. */
async function* linesOf(file: SourceFile): AsyncGenerator<{ line: number; bytes: Buffer | null }> {
  let held: Uint8Array[] = [];
  let length = 0;
  let line = 1;
  const take = (piece: Uint8Array) => {
    length += piece.length;
    if (length <= LINE_BYTES_MAX) held.push(piece);
    else held = [];
  };
  const end = () => {
    const bytes = length > LINE_BYTES_MAX ? null : Buffer.concat(held);
    held = [];
    length = 0;
    return { line: line++, bytes };
  };
  for await (const piece of file.read()) {
    let from = 0;
    for (let at = piece.indexOf(LINE_FEED); at !== -1; at = piece.indexOf(LINE_FEED, from)) {
      take(piece.subarray(from, at));
      yield end();
      from = at + 1;
    }
    take(piece.subarray(from));
  }
  if (length > 0) yield end();
}

/** The element of a list that cannot be read; it was told. */
export const UNREADABLE = Symbol('unreadable');

/**
 * The elements of the lists with these names in the outermost object, or of an outermost list. `what` names an element in
 * messages.
 */
export async function* listValues(
  file: SourceFile,
  { lists, what }: { readonly lists: readonly string[]; readonly what: string },
  tell: (problem: string) => void,
): AsyncGenerator<unknown> {
  const items = new JsonItems(lists, DOCUMENT_BYTES_MAX);
  const whole = new TextDecoder('utf-8', { fatal: true });
  const decoded = (bytes?: Uint8Array) => {
    try {
      return whole.decode(bytes, { stream: bytes !== undefined });
    } catch {
      throw new UnreadableError('is not valid UTF-8');
    }
  };
  let count = 0;
  for await (const bytes of file.read()) {
    const taken = items.take(decoded(bytes));
    if (!taken.ok) {
      const isLarge = taken.error.code === 'PAYLOAD_TOO_LARGE';
      const limit = `${DOCUMENT_BYTES_MAX / 1024 / 1024} MiB`;
      throw new UnreadableError(isLarge ? `has a ${what} of more than ${limit}` : 'is not a JSON list');
    }
    for (const { text } of taken.value) {
      count += 1;
      try {
        yield jsonOf(text);
      } catch (error) {
        if (!(error instanceof UnreadableError)) throw error;
        tell(`${what} ${count} ${error.message}: left out`);
        yield UNREADABLE;
      }
    }
  }
  decoded();
  if (!items.end().ok) throw new UnreadableError('ends before its list does');
}

export type Json = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const objectsOf = (value: unknown): readonly Json[] =>
  Array.isArray(value) ? value.filter(isObject) : [];

export const textIn = (value: unknown): string | null => (typeof value === 'string' ? value : null);
