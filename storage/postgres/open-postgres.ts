import { SCHEMA_VERSION } from '../../protocol/base/schema-version.js';
import { instantFromMs } from '../../protocol/base/time.js';
import { DatabaseRefusedError, startLog, type WriterStart } from '../sql/database-setup.js';
import { expectTextRules } from '../sql/text-index.js';
import { PostgresConnection, type PostgresOptions, WRITER_LOCK } from './postgres-connection.js';
import { postgresSchema } from './schema.js';

/** Opens a database for writing and brings it to the current schema; safe when several processes do so at once. */
export function openPostgres(
  options: Omit<PostgresOptions, 'readOnly'>,
  start: WriterStart,
): PostgresConnection {
  const db = new PostgresConnection({ ...options, readOnly: false });
  try {
    prepareSchema(db, start);
    expectTextRules(db);
    requireOwnNode(db, start);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

const VERSION = `SELECT CASE WHEN to_regclass('schema_version') IS NULL THEN 0 ELSE 1 END AS there`;

/** The schema version of the database; 0 where there is none. */
export function postgresSchemaVersion(db: PostgresConnection): number {
  if (db.prepare(VERSION).pluck().get() === 0) return 0;
  return (db.prepare('SELECT max(version) FROM schema_version').pluck().get() as number | null) ?? 0;
}

/** Makes the tables where there are none; under the lock of the writers. */
export function prepareSchema(db: PostgresConnection, start: WriterStart): void {
  if (postgresSchemaVersion(db) === SCHEMA_VERSION) return;
  db.exec('BEGIN');
  try {
    db.prepare(`SELECT pg_advisory_xact_lock(${WRITER_LOCK})`).get();
    const version = postgresSchemaVersion(db);
    if (version > SCHEMA_VERSION)
      throw new DatabaseRefusedError(
        `the database has schema version ${version}, this release knows ${SCHEMA_VERSION}: install a newer release`,
      );
    if (version === 0) {
      for (const sql of postgresSchema()) db.script(sql);
      db.prepare('INSERT INTO schema_version (version, applied_at) VALUES (?, ?)').run(
        SCHEMA_VERSION,
        instantFromMs(start.nowMs),
      );
      startLog(db, start, 'created');
    }
    db.exec('COMMIT');
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/**
 * All daemons of a database are one node with one key: they write one chain. Another key would begin a new chain, and the
 * daemons of the other one would take it back.
 */
function requireOwnNode(db: PostgresConnection, { identity }: WriterStart): void {
  const holder = db.prepare<[], string>('SELECT peer_id FROM log_state').pluck().get();
  if (holder === identity.peerId) return;
  throw new DatabaseRefusedError(
    `the database belongs to the node ${holder}, and this machine's key is that of ${identity.peerId}: give all daemons of a ` +
      'database one key folder (SVC_KEY_DIR)',
  );
}
