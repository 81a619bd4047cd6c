import { closeSync, existsSync, openSync } from 'node:fs';
import { SCHEMA_VERSION } from '../../protocol/base/schema-version.js';
import { StartRefusedError } from '../../protocol/base/start-refused.js';
import { instantFromMs } from '../../protocol/base/time.js';
import { KINDS } from '../../protocol/release.js';
import { diskFailure } from '../disk-failure.js';
import { DatabaseRefusedError, startLog, switchEpoch } from '../sql/database-setup.js';
import { localKindChanges } from '../sql/kinds/local-tables.js';
import { recordIndexes } from '../sql/kinds/record-table.js';
import { DERIVED_OBJECTS, FORMER_INDEXES, SCHEMA } from '../sql/schema.js';
import { expectTextRules } from '../sql/text-index.js';
import { openWriter, type Sharing } from './connection.js';
import { type OpenOptions, schemaVersion } from './file-schema.js';
import { migrate } from './migrations/migrate.js';
import type { SqliteConnection } from './sqlite-connection.js';
import { lacksSharedFile } from './sqlite-errors.js';

const SETUP_BUSY_TIMEOUT_MS = 30_000;

/**
 * Opens a database for writing and brings it to the current schema: creates a new one, migrates versions 49 to 54
 * (after a snapshot, interface §9.4), and refuses any other. Safe when several processes open one file at once. A full
 * or read-only disk is a StartRefusedError.
 */
export function openDatabase(options: OpenOptions): SqliteConnection {
  const { path, aloneIfFull = false } = options;
  try {
    createPrivately(path);
    return openAs('shared', options);
  } catch (error) {
    if (aloneIfFull && lacksSharedFile(error, path)) return openAs('alone', options);
    const disk = diskFailure(error, path);
    throw disk === null ? error : new StartRefusedError(disk.code, disk.message, { cause: error });
  }
}

function openAs(sharing: Sharing, options: OpenOptions): SqliteConnection {
  const db = openWriter(options.path, SETUP_BUSY_TIMEOUT_MS, options.synchronous, sharing);
  try {
    const version = schemaVersion(db);
    if (version !== SCHEMA_VERSION) prepare(db, options);
    followKinds(db);
    expectTextRules(db);
    continueEpoch(db, options);
    db.pragma(`busy_timeout = ${options.busyTimeoutMs}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

// Memories are private: no other user of the machine may read the file. SQLite gives its side files the same mode.
function createPrivately(path: string): void {
  if (path !== ':memory:' && !existsSync(path)) closeSync(openSync(path, 'a', 0o600));
}

/** Makes the tables of the schema in an empty file, without a log. */
export function makeTables(db: SqliteConnection, nowMs: number): void {
  db.exec(SCHEMA);
  const insertion = db.prepare('INSERT INTO schema_version (version, applied_at) VALUES (?, ?)');
  insertion.run(SCHEMA_VERSION, instantFromMs(nowMs));
}

function prepare(db: SqliteConnection, options: OpenOptions): void {
  if (schemaVersion(db) > SCHEMA_VERSION) {
    throw new DatabaseRefusedError(
      `the database has schema version ${schemaVersion(db)}, this release knows ${SCHEMA_VERSION}: install a newer release`,
    );
  }
  if (schemaVersion(db) > 0) {
    migrate(db, options);
    return;
  }
  // Another process may have created it meanwhile; only the holder of the lock knows.
  db.exec('BEGIN IMMEDIATE');
  try {
    if (schemaVersion(db) === 0) {
      makeTables(db, options.nowMs);
      startLog(db, options, 'created');
    }
    db.exec('COMMIT');
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/**
 * Gives a database the tables and indexes that this release declares and the one that made it did not, and drops indexes that
 * no query uses any more.
 */
export function followKinds(db: SqliteConnection): void {
  const changes = () => [...memoryIndexChanges(db), ...recordIndexChanges(db), ...localKindChanges(db)];
  if (changes().length === 0) return;
  // Another process may be making them; only the holder of the lock knows.
  db.exec('BEGIN IMMEDIATE');
  try {
    for (const sql of changes()) db.exec(sql);
    db.exec('COMMIT');
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

const indexesOf = (db: SqliteConnection, table: 'memories' | 'records'): ReadonlySet<unknown> =>
  new Set(
    db.prepare("SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?").pluck().all(table),
  );

function memoryIndexChanges(db: SqliteConnection): readonly string[] {
  const there = indexesOf(db, 'memories');
  const missing = DERIVED_OBJECTS.filter(
    ({ name, sql }) => sql.includes(' ON memories (') && !there.has(name),
  );
  const former = FORMER_INDEXES.filter((name) => there.has(name));
  return [...missing.map(({ sql }) => sql), ...former.map((name) => `DROP INDEX ${name}`)];
}

function recordIndexChanges(db: SqliteConnection): readonly string[] {
  const there = indexesOf(db, 'records');
  return recordIndexes(KINDS).filter((sql) => !there.has(/records_\w+/.exec(sql)![0]));
}

/**
 * A database that was moved to another machine, or whose machine got a new key, starts a new epoch: its chain continues
 * under an origin that no other node writes.
 */
function continueEpoch(db: SqliteConnection, options: OpenOptions): void {
  const { identity, freshEpoch, nowMs } = options;
  const holder = () => (db.prepare('SELECT peer_id FROM log_state').get() as { peer_id: string }).peer_id;
  if (holder() === identity.peerId) return;
  db.exec('BEGIN IMMEDIATE');
  try {
    const before = holder();
    if (before !== identity.peerId) {
      switchEpoch(db, { peerId: identity.peerId, epoch: freshEpoch, nowMs, reason: `moved from ${before}` });
    }
    db.exec('COMMIT');
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK');
    throw error;
  }
}
