import { existsSync } from 'node:fs';
import type { SqliteConnection } from '../../storage/sqlite/sqlite-connection.js';
import type { Settings } from '../config/settings.js';
import { openForWriting } from '../threads/open-for-writing.js';

const BUSY_TIMEOUT_MS = 1000;

/** Creates, migrates or opens the database of a daemon, for work before its threads start or after they end. */
export function openOnce({ dbPath, synchronous }: Settings, peerId: string): SqliteConnection {
  return openForWriting(dbPath, peerId, { busyTimeoutMs: BUSY_TIMEOUT_MS, synchronous });
}

/** The last connection to close writes the write-ahead log back into the file. */
export function checkpoint(settings: Settings, peerId: string): void {
  // Opening would make an empty database in place of a removed one.
  if (!existsSync(settings.dbPath)) return;
  const db = openOnce(settings, peerId);
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
}
