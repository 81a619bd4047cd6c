import { existsSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { FileIdentity } from './file-identity.js';
import { openSqlite, SqliteMissingError } from './open-sqlite.js';
import { claimFile, removeFiles } from './snapshot-files.js';
import type { SqliteConnection } from './sqlite-connection.js';

export const MANIFEST_SUFFIX = '.manifest.json';

/** The files of a backup that is not complete; `stem` is its path without an ending. */
export const draftsOf = (stem: string) => ({
  path: `${stem}.db.partial`,
  manifestPath: `${stem}${MANIFEST_SUFFIX}.partial`,
});

/** The file that the process of a backup keeps locked; the system ends the lock with the process. */
const lockOf = (stem: string) => `${stem}.lock.partial`;

/** What follows the name of the database in the name of a draft: the time, a token and what the draft becomes. */
const DRAFT_END = /^-\d{8}T\d{9}Z-[0-9a-f]{8}(?=\.(?:db|manifest\.json|lock)\.partial(?:-journal)?$)/;

export interface DraftsLock {
  /** Removes the lock and its file. */
  release(): void;
}

/** Marks the drafts of a backup as those of this process, before they are made. */
export function lockDrafts(stem: string): DraftsLock {
  const path = lockOf(stem);
  claimFile(path);
  const lock = tryToLock(path);
  if (lock === null) throw new Error(`the file system of ${path} gives no lock on it`);
  return lock;
}

/**
 * Removes the drafts that ended processes left of backups of one database, and answers of how many backups. A copy that
 * was complete, and lacked only the name of its manifest, becomes a backup instead.
 */
export function clearUnfinished(folder: string, database: string): number {
  const stems = new Set(
    readdirSync(folder).flatMap((name) => {
      const end = name.startsWith(database) ? DRAFT_END.exec(name.slice(database.length)) : null;
      return end === null ? [] : [join(folder, database + end[0])];
    }),
  );
  return [...stems].filter(clear).length;
}

function clear(stem: string): boolean {
  const lock = existsSync(lockOf(stem)) ? tryToLock(lockOf(stem)) : { release: () => undefined };
  if (lock === null) return false;
  const drafts = draftsOf(stem);
  const isComplete = existsSync(`${stem}.db`) && existsSync(drafts.manifestPath);
  if (isComplete) renameSync(drafts.manifestPath, `${stem}${MANIFEST_SUFFIX}`);
  removeFiles([drafts.path, `${drafts.path}-journal`, drafts.manifestPath]);
  lock.release();
  return !isComplete;
}

/** Null when another process has the lock or has removed the file, or the file cannot be locked. */
function tryToLock(path: string): DraftsLock | null {
  const file = new FileIdentity(path);
  let db: SqliteConnection | null = null;
  try {
    db = openSqlite(path, { fileMustExist: true, timeout: 0 });
    // Without this, the lock would make a journal.
    db.pragma('journal_mode = MEMORY');
    db.exec('BEGIN EXCLUSIVE');
    if (!file.isCurrent()) throw new Error('the file was removed');
  } catch (error) {
    db?.close();
    if (error instanceof SqliteMissingError) throw error;
    return null;
  }
  const held = db;
  return {
    release() {
      // Removed while it is locked, so that no other process takes it.
      removeFiles([path]);
      held.close();
    },
  };
}
