import Database from 'better-sqlite3';
import { diskTrouble } from '../disk-failure.js';

/** SQLite's result code of an error thrown by better-sqlite3, such as SQLITE_BUSY; null for any other error. */
export function sqliteCode(error: unknown): string | null {
  if (error instanceof Database.SqliteError) return error.code;
  return null;
}

export function isBusy(error: unknown): boolean {
  const code = sqliteCode(error);
  return code !== null && (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED'));
}

export function isFull(error: unknown): boolean {
  return sqliteCode(error) === 'SQLITE_FULL';
}

/** True when a database on a full disk cannot be opened because the file that its connections share has no room. */
export function lacksSharedFile(error: unknown, path: string): boolean {
  return sqliteCode(error)?.startsWith('SQLITE_IOERR_SHM') === true && diskTrouble(path) === 'full';
}

/** True for errors that mean that the file itself is damaged. */
export function isUnreadable(error: unknown): boolean {
  return /^SQLITE_(IOERR|CORRUPT|NOTADB)/.test(sqliteCode(error) ?? '');
}

/** True when a row with the same key exists. */
export const isTaken = (error: unknown): boolean =>
  /^SQLITE_CONSTRAINT_(UNIQUE|PRIMARYKEY)$/.test(sqliteCode(error) ?? '');

/** True for damage that the engine found in the file: most often of an index, which can be built again. */
export function isCorruption(error: unknown): boolean {
  return sqliteCode(error)?.startsWith('SQLITE_CORRUPT') === true;
}

/** True for errors of the file or disk, which affect the whole transaction and not one statement. */
export function isDiskError(error: unknown): boolean {
  const code = sqliteCode(error);
  return (
    code !== null && /^SQLITE_(FULL|IOERR|CORRUPT|NOTADB|BUSY|LOCKED|READONLY|CANTOPEN|NOMEM)/.test(code)
  );
}
