import type { Readable } from 'node:stream';
import type { SourceFile } from '../mine/source-file.js';
import { HEAD_BYTES } from './source-head.js';

/** Standard input, or another stream, as a file that can be looked at, and then read once. */
export async function standardInput(stream: Readable, path = 'standard input'): Promise<SourceFile> {
  const rest = (stream as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  const head: Uint8Array[] = [];
  let length = 0;
  while (length < HEAD_BYTES) {
    const { value, done } = await rest.next();
    if (done === true) break;
    head.push(value);
    length += value.length;
  }
  async function* read(bytesMax?: number): AsyncGenerator<Uint8Array> {
    yield* head;
    if (bytesMax !== undefined && bytesMax <= HEAD_BYTES) return;
    for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
  }
  return { path, size: length, read };
}
