import { resolve } from 'node:path';
import type { KeptCopy } from '../protocol/erasure/kept-copy-kind.js';
import type { Store } from '../storage/port.js';

/** Notes a file that holds memories, for later erasures. The file is made, whatever comes of the note. */
export async function noteCopy(
  store: Pick<Store, 'execute'>,
  what: KeptCopy['what'],
  path: string,
): Promise<void> {
  await store.execute({ kind: 'note-copy', what, path: resolve(path) });
}
