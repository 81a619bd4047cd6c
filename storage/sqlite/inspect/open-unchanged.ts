import { existsSync, readFileSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { type Connection, openReader } from '../connection.js';

/** A database without side files up to this size is inspected in memory. */
const COPY_BYTES_MAX = 256 * 1024 * 1024;

// Where the header says which journal a file uses: 1 is rollback, 2 is write-ahead.
const JOURNAL_BYTES = [18, 19];

/**
 * Opens a database for looking at it, so that no file is made or changed. SQLite makes side files even for readers of
 * a file that nobody has open, and leaves them there; such a file is read into memory instead. One that is in use, or
 * was left by a crash, has its side files already.
 */
export function openUnchanged(path: string): Connection {
  const wal = `${path}-wal`;
  if (!existsSync(wal) && statSync(path).size <= COPY_BYTES_MAX) {
    const bytes = readFileSync(path);
    // A process that came meanwhile may have written under this reading.
    if (!existsSync(wal)) {
      for (const at of JOURNAL_BYTES) if (bytes[at] === 2) bytes[at] = 1;
      const db = new Database(bytes);
      db.pragma('query_only = ON');
      return db;
    }
  }
  return openReader(path);
}
