import Database from 'better-sqlite3';
import { diskTrouble } from '../disk-failure.js';
import { FileIdentity } from './file-identity.js';
import { openSqlite } from './open-sqlite.js';

export type Connection = Database.Database;

/** How SQLite syncs a commit; FULL is the promise that an acknowledged write is durable. */
export type Synchronous = 'FULL' | 'NORMAL' | 'OFF';

/**
 * Whether other processes may have the file open. One that is alone needs no file for the index of the write-ahead log,
 * for which a full disk has no room.
 */
export type Sharing = 'shared' | 'alone';

/** The path of the database named another file while it was being opened. */
class FileReplacedError extends Error {}

/** How often opening starts again when the database is replaced meanwhile. */
const OPEN_ATTEMPTS = 5;

/**
 * Opens a read-write connection in WAL mode. `busyTimeoutMs` bounds how long one statement waits for another process;
 * callers that retry themselves keep it short. While it waits for a restore, the path may start to name another file.
 * Then it opens that file, because two files must never share one write-ahead log's name.
 */
export function openWriter(
  path: string,
  busyTimeoutMs: number,
  synchronous: Synchronous = 'FULL',
  sharing: Sharing = 'shared',
): Connection {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return openOnce(path, busyTimeoutMs, synchronous, sharing);
    } catch (error) {
      if (!(error instanceof FileReplacedError) || attempt === OPEN_ATTEMPTS) throw error;
    }
  }
}

function openOnce(
  path: string,
  busyTimeoutMs: number,
  synchronous: Synchronous,
  sharing: Sharing,
): Connection {
  const file = path === ':memory:' ? null : new FileIdentity(path);
  const db = openSqlite(path, { timeout: busyTimeoutMs });
  try {
    if (sharing === 'alone') db.pragma('locking_mode = EXCLUSIVE');
    if (file !== null) enterWal(db, busyTimeoutMs, file);
    db.pragma(`synchronous = ${synchronous}`);
    db.pragma('foreign_keys = ON');
    db.pragma('temp_store = MEMORY');
    db.pragma('cache_size = -8192');
    // Larger than the default so that a checkpoint does not land in every few batches.
    db.pragma('wal_autocheckpoint = 4000');
    db.pragma('journal_size_limit = 67108864');
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

// The file stores the mode, so this takes the exclusive lock only once in a database's life. Two processes that take it
// at once would wait for each other, so SQLite answers BUSY to one of them without waiting; that process tries again.
// Reading the mode waits for a process that holds the file exclusively, so the file's identity is checked after that
// read, and again after the change. From then on this connection's lock keeps a restore away.
function enterWal(db: Connection, patienceMs: number, file: FileIdentity): void {
  // Processes wait for different times, so two do not collide again and again.
  const stepMs = 5 + (process.pid % 16);
  for (let waitedMs = 0; ; waitedMs += stepMs) {
    try {
      const mode = db.pragma('journal_mode', { simple: true });
      requireCurrent(file);
      if (mode === 'wal') return;
      db.pragma('journal_mode = WAL');
      requireCurrent(file);
      return;
    } catch (error) {
      if (!isBusy(error) || waitedMs >= patienceMs) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, stepMs);
    }
  }
}

function requireCurrent(file: FileIdentity): void {
  if (!file.isCurrent()) throw new FileReplacedError('the database was replaced while it was being opened');
}

/** Bytes of the file that a reader maps at most: it reads them without copies. */
const MAPPED_BYTES_MAX = 1024 * 1024 * 1024;

/**
 * Opens a connection that cannot write. The file must exist. Each connection's mapping counts as its own resident
 * memory, so a connection that reads few rows does without (`mapped` false).
 */
export function openReader(path: string, { mapped = true } = {}): Connection {
  const db = openSqlite(path, { timeout: 10_000, readonly: true, fileMustExist: true });
  db.pragma('query_only = ON');
  db.pragma('temp_store = MEMORY');
  db.pragma(`cache_size = -${mapped ? 32768 : 4096}`);
  db.pragma(`mmap_size = ${mapped ? MAPPED_BYTES_MAX : 0}`);
  return db;
}

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
