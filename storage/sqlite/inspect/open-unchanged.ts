import { existsSync, readFileSync, statSync } from 'node:fs';
import { openReader } from '../connection.js';
import { openSqlite } from '../open-sqlite.js';
import type { SqliteConnection } from '../sqlite-connection.js';

/** A database without side files up to this size is inspected in memory. */
const COPY_BYTES_MAX = 256 * 1024 * 1024;

// The offsets in the header that say which journal a file uses: 1 is rollback, 2 is write-ahead.
const JOURNAL_BYTES = [18, 19];

/**
 * Opens a database for inspection without making or changing a file. SQLite makes side files even for readers of a file
 * that no process has open, and leaves them there; such a file is read into memory instead. A file that is in use, or
 * was left by a crash, already has its side files.
 */
export function openUnchanged(path: string): SqliteConnection {
  const wal = `${path}-wal`;
  if (!existsSync(wal) && statSync(path).size <= COPY_BYTES_MAX) {
    const bytes = readFileSync(path);
    // A process that opened the file meanwhile may have written during this read.
    if (!existsSync(wal)) {
      for (const at of JOURNAL_BYTES) if (bytes[at] === 2) bytes[at] = 1;
      const db = openSqlite(bytes);
      db.pragma('query_only = ON');
      return db;
    }
  }
  return openReader(path);
}
