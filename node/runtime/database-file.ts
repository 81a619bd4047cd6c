import { existsSync } from 'node:fs';
import type { Connection } from '../../storage/sql/connection.js';
import type { Settings } from '../config/settings.js';
import { openAs, placeOf } from '../threads/open-database.js';

const BUSY_TIMEOUT_MS = 1000;

/** Creates, migrates or opens the database of a daemon, for work before its threads start or after they end. */
export function openOnce(settings: Settings, peerId: string): Connection {
  return openAs(placeOf(settings), peerId, { busyTimeoutMs: BUSY_TIMEOUT_MS });
}

/** The last connection to close writes the write-ahead log back into the file. */
export function checkpoint(settings: Settings, peerId: string): void {
  // Opening would make an empty database in place of a removed one.
  if (settings.storeUrl !== null || !existsSync(settings.dbPath)) return;
  const db = openOnce(settings, peerId);
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
}
