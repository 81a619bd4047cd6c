import { JsonItems } from '../json-items.js';
import type { SourceFile } from '../mine/source-file.js';
import { bytesOf, isObject, type Json, LINE_BYTES_MAX } from '../mine/text-of.js';
import type { Head } from './format.js';

const HEAD_BYTES = 65_536;
const HEAD_LINES = 40;

/** The names of lists in which programs keep their memories. */
export const LIST_NAMES = [
  'memories',
  'results',
  'passages',
  'entities',
  'links',
  'records',
  'items',
  'data',
  'notes',
] as const;

/** The beginning of a file, as formats look at it: as much of it as shows a row, where the first one is long. */
export async function headOf(file: SourceFile): Promise<Head> {
  const bytes = await bytesOf(file, HEAD_BYTES);
  const head = headIn(file, bytes);
  const isCut = bytes.length === HEAD_BYTES && head.first === undefined && head.lines.length === 0;
  if (!isCut || !/^\s*[[{]/.test(head.text)) return head;
  return headIn(file, await bytesOf(file, LINE_BYTES_MAX));
}

function headIn(file: SourceFile, bytes: Buffer): Head {
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '');
  const lines = text.split('\n', HEAD_LINES).flatMap((line): Json[] => {
    const value = parsed(line);
    return isObject(value) ? [value] : [];
  });
  return { path: file.path, text, lines, ...firstOf(text) };
}

function firstOf(text: string): Pick<Head, 'first' | 'list'> {
  const items = new JsonItems(LIST_NAMES, LINE_BYTES_MAX);
  const taken = items.take(text);
  const [item] = taken.ok ? taken.value : [];
  if (item === undefined) return { first: undefined, list: null };
  return { first: parsed(item.text), list: text.trimStart().startsWith('[') ? null : item.list };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
