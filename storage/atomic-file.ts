import {
  closeSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';

/** A file that is to appear whole. */
export interface WholeFile {
  readonly path: string;
  /** Its name until it is complete, in the same folder. */
  readonly draft: string;
  readonly content: string | Uint8Array;
  readonly mode: number;
  /** Set where the process may give files away. */
  readonly owner?: { readonly uid: number; readonly gid: number };
  /** False where an older file under the name does no harm after a power loss. */
  readonly syncsFolder?: boolean;
}

/**
 * Writes a draft, synced, and has `place` give it its name: by default it replaces any file of that name. A draft that
 * `place` leaves is removed, as is one of a process that was killed.
 */
export function placeFile<T = void>(
  { path, draft, content, mode, owner, syncsFolder = true }: WholeFile,
  place: (draft: string) => T = (from) => renameSync(from, path) as T,
): T {
  rmSync(draft, { force: true });
  const file = openSync(draft, 'wx', 0o600);
  try {
    try {
      writeFileSync(file, content);
      if (owner !== undefined && process.getuid?.() === 0) fchownSync(file, owner.uid, owner.gid);
      fchmodSync(file, mode);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    return place(draft);
  } finally {
    rmSync(draft, { force: true });
    if (syncsFolder) syncToDisk(dirname(path));
  }
}

/** Makes a file, or the names in a folder, durable: without this a power loss may undo a new name. */
export function syncToDisk(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
