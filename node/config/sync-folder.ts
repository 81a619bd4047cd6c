import { closeSync, fsyncSync, openSync } from 'node:fs';

/** Makes the names in a folder durable: without this a power loss may undo a new name. */
export function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
