import { chmodSync, constants, copyFileSync, existsSync, linkSync, renameSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import Database from 'better-sqlite3';
import { CHAIN_GENESIS } from '../../protocol/operation-log.js';
import { fail, failed, ok, type Result } from '../../protocol/result.js';
import { SCHEMA_VERSION } from '../../protocol/schema-version.js';
import { manifestPathOf, readManifest } from './backup.js';
import { isBusy, isDiskError, sqliteCode } from './connection.js';
import { DatabaseRefusedError, type OpenOptions, recordEpoch } from './database-setup.js';
import { OLDEST_VERSION } from './migrations/migrate.js';
import { checkedVersion, claimFile, fileSha256, removeFiles, syncToDisk } from './snapshot-files.js';

export interface RestoreOptions extends OpenOptions {
  /** The backup. */
  readonly from: string;
  /** Skip the manifest; whether the file is a whole database of ours is checked all the same. */
  readonly skipVerify: boolean;
  /** Canonical instant. */
  readonly now: string;
}

export interface Restored {
  /** Where the database that was there lies now; null when there was none. */
  readonly keptAs: string | null;
  readonly schemaVersion: number;
}

/**
 * Puts a backup in the place of the database. Everything is checked on a private copy first, so a refusal touches
 * nothing: NOT_FOUND, BACKUP_UNVERIFIED, BACKUP_DAMAGED, BACKUP_UNSUPPORTED, DATABASE_IN_USE. The name of the database
 * goes from the old to the new file in one step, so a crash leaves either. The restored log continues in a new epoch.
 */
export function restoreBackup(options: RestoreOptions): Result<Restored> {
  const { from, path, freshEpoch } = options;
  if (!existsSync(from)) return fail('NOT_FOUND', `there is no backup at ${from}`);
  const draft = `${path}.restoring-${freshEpoch}`;
  try {
    claimFile(draft);
    copyFileSync(from, draft);
    // Copying takes the mode of the backup over.
    chmodSync(draft, 0o600);
    const version = checkCopy(draft, options);
    if (!version.ok) return failed(version.error);
    if (version.value === SCHEMA_VERSION) beginEpoch(draft, options);
    syncToDisk(draft);
    const swapped = swap(draft, options);
    return swapped.ok ? ok({ keptAs: swapped.value, schemaVersion: version.value }) : failed(swapped.error);
  } finally {
    removeFiles([draft, `${draft}-journal`, `${draft}-wal`, `${draft}-shm`]);
  }
}

function checkCopy(copy: string, { from, skipVerify }: RestoreOptions): Result<number> {
  if (!skipVerify) {
    const manifest = readManifest(manifestPathOf(from));
    if (!manifest.ok) return failed(manifest.error);
    const { snapshot, bytes, sha256 } = manifest.value;
    if (snapshot !== basename(from)) return fail('BACKUP_UNVERIFIED', `the manifest is that of ${snapshot}`);
    if (statSync(copy).size !== bytes || fileSha256(copy) !== sha256) {
      return fail(
        'BACKUP_DAMAGED',
        'the backup is not what its manifest describes: bytes were changed or lost',
      );
    }
  }
  let version: number;
  try {
    version = checkedVersion(copy);
  } catch (error) {
    if (error instanceof DatabaseRefusedError) return fail('BACKUP_UNSUPPORTED', error.message);
    const isDatabase = sqliteCode(error) !== 'SQLITE_NOTADB';
    return isDatabase
      ? fail('BACKUP_DAMAGED', `the backup is damaged: ${(error as Error).message}`)
      : fail('BACKUP_UNSUPPORTED', 'the file is no database');
  }
  if (version >= OLDEST_VERSION && version <= SCHEMA_VERSION) return ok(version);
  const known = `this release restores versions ${OLDEST_VERSION} to ${SCHEMA_VERSION}`;
  return fail('BACKUP_UNSUPPORTED', `the backup has schema version ${version}; ${known}`);
}

/** What the database did after the backup is gone, so its chain must not be continued under the same origin. */
function beginEpoch(copy: string, options: RestoreOptions): void {
  const db = new Database(copy);
  try {
    db.pragma('journal_mode = DELETE');
    db.transaction(() => {
      const { commit_sequence } = db.prepare('SELECT commit_sequence FROM log_state').get() as {
        commit_sequence: number;
      };
      db.prepare('UPDATE log_state SET peer_id = ?, db_epoch = ?, origin_seq = 0, chain_head = ?').run(
        options.identity.peerId,
        options.freshEpoch,
        CHAIN_GENESIS,
      );
      recordEpoch(db, options, commit_sequence, 'restored from backup');
      // The process that owned the database when it was copied does not own this one.
      db.prepare('DELETE FROM database_owner').run();
    })();
  } finally {
    db.close();
  }
}

function swap(draft: string, options: RestoreOptions): Result<string | null> {
  const { path } = options;
  if (!existsSync(path)) {
    removeFiles([`${path}-wal`, `${path}-shm`]);
    renameSync(draft, path);
    syncToDisk(dirname(path));
    return ok(null);
  }
  const held = holdAlone(path, options.nowMs);
  if (!held.ok) return failed(held.error);
  try {
    const aside = `${path}.before-restore-${options.now.replace(/[:.-]/g, '')}`;
    keep(path, aside);
    // Only a database that cannot be read still has them; they must never meet the new one.
    for (const end of ['-wal', '-shm']) moveAside(path, aside, end);
    renameSync(draft, path);
    // It says how far the chain of the old database had come; of the restored one, the next write says it.
    moveAside(path, aside, '.audit-head');
    syncToDisk(dirname(path));
    return ok(aside);
  } finally {
    held.value?.close();
  }
}

function moveAside(path: string, aside: string, end: string): void {
  if (existsSync(path + end)) renameSync(path + end, aside + end);
}

/** A second name for the file, so that the first is never without one. */
function keep(path: string, aside: string): void {
  try {
    linkSync(path, aside);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw error;
    copyFileSync(path, aside, constants.COPYFILE_EXCL);
    syncToDisk(aside);
  }
}

/**
 * Takes the database for this process alone, its write-ahead log folded in: leaving WAL mode needs that nobody else has it
 * open. Null for a file that cannot be read, which nobody can lock either.
 */
function holdAlone(path: string, nowMs: number): Result<Database.Database | null> {
  const db = new Database(path, { fileMustExist: true, timeout: 0 });
  try {
    const owner = ownerOf(db, nowMs);
    if (owner !== null) {
      db.close();
      return inUse(`${owner} owns the database`);
    }
    db.pragma('locking_mode = EXCLUSIVE');
    db.pragma('journal_mode = DELETE');
    db.exec('BEGIN EXCLUSIVE; COMMIT');
    return ok(db);
  } catch (error) {
    db.close();
    if (isBusy(error)) return inUse('another process has the database open');
    if (isDiskError(error)) return ok(null);
    throw error;
  }
}

const inUse = (who: string) =>
  fail<never>(
    'DATABASE_IN_USE',
    `${who}: stop it first (after a crash, wait ten seconds); nothing was changed`,
  );

function ownerOf(db: Database.Database, nowMs: number): string | null {
  const table = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'database_owner'").get();
  if (table === undefined) return null;
  const owner = db.prepare('SELECT holder FROM database_owner WHERE expires_at_ms > ?').get(nowMs) as
    | { holder: string }
    | undefined;
  return owner?.holder ?? null;
}
