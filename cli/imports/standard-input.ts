import type { Readable } from 'node:stream';
import type { SourceFile } from '../mine/source-file.js';

/** Standard input, or another stream, as a file whose beginning can be looked at, and that is then read once. */
export function standardInput(stream: Readable, path = 'standard input'): SourceFile {
  const rest = (stream as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  const looked: Uint8Array[] = [];
  async function* read(bytesMax?: number): AsyncGenerator<Uint8Array> {
    let length = 0;
    for (const piece of looked) {
      length += piece.length;
      yield piece;
    }
    while (bytesMax === undefined || length < bytesMax) {
      const next = await rest.next();
      if (next.done === true) return;
      // Only a look is kept for the next one.
      if (bytesMax !== undefined) looked.push(next.value);
      length += next.value.length;
      yield next.value;
    }
  }
  // How much comes is not known.
  return { path, size: 0, read };
}
