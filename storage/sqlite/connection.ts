import { FileIdentity } from './file-identity.js';
import { openSqlite } from './open-sqlite.js';
import type { SqliteConnection } from './sqlite-connection.js';
import { isBusy } from './sqlite-errors.js';

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
): SqliteConnection {
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
): SqliteConnection {
  const file = path === ':memory:' ? null : new FileIdentity(path);
  const db = openSqlite(path, { timeout: busyTimeoutMs });
  try {
    if (sharing === 'alone') db.pragma('locking_mode = EXCLUSIVE');
    if (file !== null) enterWal(db, busyTimeoutMs, file);
    db.pragma(`synchronous = ${synchronous}`);
    db.pragma('foreign_keys = ON');
    // What is removed is overwritten, so that an erasure leaves nothing in pages that were freed before it.
    db.pragma('secure_delete = ON');
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
function enterWal(db: SqliteConnection, patienceMs: number, file: FileIdentity): void {
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
export function openReader(path: string, { mapped = true } = {}): SqliteConnection {
  const db = openSqlite(path, { timeout: 10_000, readonly: true, fileMustExist: true });
  db.pragma('query_only = ON');
  db.pragma('temp_store = MEMORY');
  db.pragma(`cache_size = -${mapped ? 32768 : 4096}`);
  db.pragma(`mmap_size = ${mapped ? MAPPED_BYTES_MAX : 0}`);
  return db;
}
