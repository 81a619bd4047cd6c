import { closeSync, createReadStream, openSync, readSync, statSync } from 'node:fs';
import { inflated } from '../../node/seams.js';
import { fail, ok, type Result } from '../../protocol/base/result.js';
import type { SourceFile } from './source-file.js';
import { UnreadableError } from './text-of.js';

/** Bytes at the end of an archive in which its directory is named: 22, and a comment. */
const TAIL_BYTES = 65_557;
const DIRECTORY_BYTES_MAX = 64 * 1024 * 1024;
const ENTRIES_MAX = 200_000;
const END = 0x06054b50;
const ENTRY = 0x02014b50;
const LOCAL = 0x04034b50;
const LOCAL_BYTES = 30;
const IN_ZIP64 = 0xffffffff;

/** Text compresses to a tenth; what expands more than this, and to more than that, was made to do harm. */
const EXPANSION_MAX = 200;
const EXPANSION_FREE_BYTES = 16 * 1024 * 1024;

const STORED = 0;
const DEFLATED = 8;

/** The files of a zip archive. VALIDATION_FAILED where it cannot be read, or would expand without measure. */
export function filesOfZip(path: string): Result<SourceFile[]> {
  const size = statSync(path).size;
  const tail = bytesAt(path, Math.max(0, size - TAIL_BYTES), Math.min(size, TAIL_BYTES));
  let end = tail.length - 22;
  while (end >= 0 && tail.readUInt32LE(end) !== END) end -= 1;
  if (end < 0) return refused(path, 'is no whole zip archive');
  const [count, bytes, from] = [
    tail.readUInt16LE(end + 10),
    tail.readUInt32LE(end + 12),
    tail.readUInt32LE(end + 16),
  ];
  if (from === IN_ZIP64 || bytes === IN_ZIP64 || count === 0xffff)
    return refused(path, 'is too large an archive: unpack it, and name its folder');
  if (bytes > DIRECTORY_BYTES_MAX || from + bytes > size || count > ENTRIES_MAX)
    return refused(path, 'has a damaged directory');
  const directory = bytesAt(path, from, bytes);
  const files: SourceFile[] = [];
  let at = 0;
  for (let index = 0; index < count; index += 1) {
    const entry = entryAt(directory, at);
    if (entry === null) return refused(path, 'has a damaged directory');
    at = entry.next;
    if (!/\.jsonl?$/i.test(entry.name)) continue;
    const problem = problemOf(entry, size);
    if (problem !== null) return refused(path, `${entry.name} in it ${problem}`);
    files.push({
      path: entry.name,
      size: entry.expanded,
      read: (bytesMax) => contentOf(path, entry, bytesMax),
    });
  }
  return ok(files.sort((left, right) => (left.path < right.path ? -1 : 1)));
}

const refused = (path: string, problem: string) =>
  fail('VALIDATION_FAILED', `${path} ${problem}`, { fields: ['path'] });

interface Entry {
  readonly name: string;
  readonly method: number;
  readonly isEncrypted: boolean;
  readonly compressed: number;
  readonly expanded: number;
  readonly offset: number;
  readonly next: number;
}

function entryAt(directory: Buffer, at: number): Entry | null {
  if (at + 46 > directory.length || directory.readUInt32LE(at) !== ENTRY) return null;
  const [name, extra, comment] = [28, 30, 32].map((field) => directory.readUInt16LE(at + field));
  const next = at + 46 + name! + extra! + comment!;
  if (next > directory.length) return null;
  return {
    name: directory.toString('utf8', at + 46, at + 46 + name!),
    isEncrypted: (directory.readUInt16LE(at + 8) & 1) === 1,
    method: directory.readUInt16LE(at + 10),
    compressed: directory.readUInt32LE(at + 20),
    expanded: directory.readUInt32LE(at + 24),
    offset: directory.readUInt32LE(at + 42),
    next,
  };
}

function problemOf(entry: Entry, size: number): string | null {
  const { method, compressed, expanded, offset } = entry;
  if (entry.isEncrypted) return 'is encrypted';
  if (method !== STORED && method !== DEFLATED) return `is compressed in a way that is not read (${method})`;
  if (expanded === IN_ZIP64 || offset + LOCAL_BYTES + compressed > size) return 'is damaged';
  const isHarmful = expanded > EXPANSION_FREE_BYTES && expanded > compressed * EXPANSION_MAX;
  return isHarmful ? `expands ${Math.round(expanded / Math.max(1, compressed))} times: refused` : null;
}

/** The content of an entry, never more than its directory says. */
async function* contentOf(path: string, entry: Entry, bytesMax?: number): AsyncGenerator<Uint8Array> {
  const local = bytesAt(path, entry.offset, LOCAL_BYTES);
  if (local.readUInt32LE(0) !== LOCAL) throw new UnreadableError('is damaged in its archive');
  const start = entry.offset + LOCAL_BYTES + local.readUInt16LE(26) + local.readUInt16LE(28);
  if (entry.compressed === 0) return;
  const raw = createReadStream(path, { start, end: start + entry.compressed - 1 });
  let length = 0;
  try {
    for await (const piece of entry.method === DEFLATED ? inflated(raw) : raw) {
      length += (piece as Uint8Array).length;
      if (length > entry.expanded)
        throw new UnreadableError('expands to more than its archive says: refused');
      yield piece as Uint8Array;
      if (bytesMax !== undefined && length >= bytesMax) return;
    }
  } catch (error) {
    if (error instanceof UnreadableError) throw error;
    throw new UnreadableError('is damaged in its archive');
  }
  if (length < entry.expanded) throw new UnreadableError('is damaged in its archive');
}

function bytesAt(path: string, from: number, length: number): Buffer {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, readSync(file, bytes, 0, length, from));
  } finally {
    closeSync(file);
  }
}
