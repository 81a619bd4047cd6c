import { SCHEMA_VERSION } from '../../../protocol/base/schema-version.js';
import { instantFromMs } from '../../../protocol/base/time.js';
import { DatabaseRefusedError } from '../../sql/database-setup.js';
import { type OpenOptions, schemaVersion } from '../file-schema.js';
import type { SqliteConnection } from '../sqlite-connection.js';
import { isBusy } from '../sqlite-errors.js';
import { olderInstant } from './older-values.js';
import { discardSnapshot, type Snapshot, takeSnapshot } from './snapshot.js';
import type { MigrationStep } from './step.js';
import { tableNames } from './tables.js';
import { to50 } from './to-50-archive-columns.js';
import { to51 } from './to-51-replay-tables.js';
import { to52 } from './to-52-quota-namespace.js';
import { to53 } from './to-53-full-text-trigger.js';
import { to54 } from './to-54-expiry-backfill.js';
import { to55 } from './to-55-operation-log.js';

/** All steps, in order, one version each. */
export const MIGRATION_STEPS: readonly MigrationStep[] = [to50, to51, to52, to53, to54, to55];

/** The oldest version that can be upgraded. */
export const OLDEST_VERSION = 49;

/** Each attempt waits for the connection's busy timeout; a large database takes minutes. */
const LOCK_ATTEMPTS = 20;

/**
 * Upgrades an older database to the current schema: a snapshot, then every missing step in one transaction, so the
 * database is either old or new (interface §9.4). Safe when several processes open the same file: one upgrades, the
 * others wait for it. When it throws DatabaseRefusedError, the database is unchanged.
 */
export function migrate(db: SqliteConnection, options: OpenOptions): void {
  upgrade(db, options, MIGRATION_STEPS);
}

/** `migrate` with its steps as a parameter, so that a test can make one fail. */
export function upgrade(db: SqliteConnection, options: OpenOptions, steps: readonly MigrationStep[]): void {
  // Both pragmas must be set outside the transaction: steps replace tables that other tables refer to.
  db.pragma('foreign_keys = OFF');
  db.pragma('legacy_alter_table = ON');
  try {
    takeWriteLock(db);
    upgradeLocked(db, options, steps);
  } finally {
    db.pragma('legacy_alter_table = OFF');
    db.pragma('foreign_keys = ON');
  }
}

function takeWriteLock(db: SqliteConnection): void {
  for (let attempt = 1; ; attempt += 1) {
    try {
      db.exec('BEGIN IMMEDIATE');
      return;
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (attempt === LOCK_ATTEMPTS) {
        throw new DatabaseRefusedError(
          'another process holds the database, which must be upgraded: stop it, or wait until its upgrade is done',
          { cause: error },
        );
      }
    }
  }
}

function upgradeLocked(db: SqliteConnection, options: OpenOptions, steps: readonly MigrationStep[]): void {
  let snapshot: Snapshot | null = null;
  let phase = 'begin';
  try {
    const from = schemaVersion(db);
    if (isCurrent(from)) {
      db.exec('ROLLBACK');
      return;
    }
    const now = instantFromMs(options.nowMs);
    if (!db.memory) {
      const { path, freshEpoch: token } = options;
      snapshot = takeSnapshot({ path, from, to: SCHEMA_VERSION, token, createdAt: now });
    }
    const brokenBefore = brokenReferences(db);
    db.function('older_instant', { deterministic: true, directOnly: true }, olderInstant);
    for (const step of steps.filter((candidate) => candidate.to > from)) {
      phase = `step to ${step.to}`;
      step.apply(db, { options, from, now });
      db.prepare('INSERT INTO schema_version (version, applied_at) VALUES (?, ?)').run(step.to, now);
    }
    phase = 'last check';
    check(db, brokenBefore);
    phase = 'commit';
    db.exec('COMMIT');
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK');
    // After a failed commit the contents of the disk are unknown, so the snapshot stays.
    if (snapshot !== null && phase !== 'commit') discardSnapshot(snapshot);
    if (error instanceof DatabaseRefusedError) throw error;
    const cause = error instanceof Error ? error.message : String(error);
    throw new DatabaseRefusedError(
      `the upgrade to schema version ${SCHEMA_VERSION} failed (${phase}: ${cause}) and was undone`,
      { cause: error },
    );
  }
}

// Only the holder of the lock knows: another process may have upgraded the database meanwhile.
function isCurrent(version: number): boolean {
  if (version === SCHEMA_VERSION) return true;
  if (version > SCHEMA_VERSION) {
    throw new DatabaseRefusedError(
      `the database has schema version ${version}, this release knows ${SCHEMA_VERSION}: install a newer release`,
    );
  }
  if (version < OLDEST_VERSION) {
    throw new DatabaseRefusedError(
      `the database has schema version ${version}; this release upgrades from ${OLDEST_VERSION} on: open it with an ` +
        'intermediate release first',
    );
  }
  return false;
}

/** References to rows that do not exist, as comparable texts. */
function brokenReferences(db: SqliteConnection): Set<string> {
  const rows = db.pragma('foreign_key_check') as unknown[];
  return new Set(rows.map((row) => JSON.stringify(row)));
}

// The upgrade does not refuse references that were already broken, in tables that no step touches.
function check(db: SqliteConnection, brokenBefore: ReadonlySet<string>): void {
  const version = schemaVersion(db);
  if (version !== SCHEMA_VERSION) throw new Error(`the steps end at version ${version}`);
  const broken = [...brokenReferences(db)].filter((reference) => !brokenBefore.has(reference));
  if (broken.length > 0) throw new Error(`broken references: ${broken.slice(0, 5).join(', ')}`);
  const left = tableNames(db, 'table').filter((name) => name.startsWith('older_'));
  if (left.length > 0) throw new Error(`tables left over: ${left.join(', ')}`);
}
