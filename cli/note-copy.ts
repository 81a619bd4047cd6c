import { resolve } from 'node:path';
import type { Services } from '../node/pipeline/call.js';
import type { KeptCopy } from '../protocol/erasure/kept-copy-kind.js';

/** Notes a file that holds memories, for later erasures. The file is made, whatever comes of the note. */
export async function noteCopy(
  store: Services['store'],
  what: KeptCopy['what'],
  path: string,
): Promise<void> {
  await store.execute({ kind: 'note-copy', what, path: resolve(path) });
}
