import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Instant } from '../../protocol/base/meanings.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import { SCHEMA_VERSION } from '../../protocol/base/schema-version.js';
import type { Signer } from '../../protocol/base/seams.js';
import { syncToDisk } from '../atomic-file.js';
import { diskFailure } from '../disk-failure.js';
import { AuditChain } from '../sql/audit-chain.js';
import { AuditHeadFile, auditHeadPath, readAuditHeads } from '../sql/audit-head.js';
import { DatabaseRefusedError, quarantinedSubscriptions, switchEpoch } from '../sql/database-setup.js';
import { manifestPathOf, readManifest } from './backup.js';
import { holdExclusively, inUse } from './exclusive-hold.js';
import type { OpenOptions } from './file-schema.js';
import { OLDEST_VERSION } from './migrations/migrate.js';
import { openSqlite } from './open-sqlite.js';
import { resetWithin } from './reset-clock.js';
import { type CopyStep, checkedVersion, claimFile, fileSha256, removeFiles } from './snapshot-files.js';
import type { SqliteConnection } from './sqlite-connection.js';
import { sqliteCode } from './sqlite-errors.js';

export interface RestoreOptions extends OpenOptions {
  /** The backup. */
  readonly from: string;
  /** Skip the manifest; the check that the file is a complete database of this program still runs. */
  readonly skipVerify: boolean;
  /** Canonical instant. */
  readonly now: Instant;
  /** Signs the record of the restore and the head of the audit chain. */
  readonly signer: Signer;
  /** Who requested the restore. */
  readonly by: string;
  /** Is told about each step. */
  readonly step: CopyStep;
}

export interface Restored {
  /** The new path of the former database; null when there was none before. */
  readonly keptAs: string | null;
  readonly schemaVersion: number;
  /** Subscriptions of the restored database that get nothing, all of them where it comes from another machine. */
  readonly quarantinedSubscriptions: number;
}

/**
 * Replaces the database with a backup. Everything is checked on a private copy first, so a refusal changes nothing:
 * NOT_FOUND, BACKUP_UNVERIFIED, BACKUP_DAMAGED, BACKUP_UNSUPPORTED, DATABASE_IN_USE. The path of the database switches
 * from the old to the new file in one step, so a crash leaves one of them. The restored log continues in a new epoch.
 */
export function restoreBackup(options: RestoreOptions): Result<Restored> {
  const { from, path, freshEpoch } = options;
  const source = statSync(from, { throwIfNoEntry: false });
  if (source === undefined) return fail('NOT_FOUND', `there is no backup at ${from}`);
  if (!source.isFile()) return fail('BACKUP_UNSUPPORTED', `${from} is not a file`);
  const half = options.skipVerify ? unfinishedPart(from) : null;
  if (half !== null) return fail('BACKUP_UNSUPPORTED', half);
  const draft = `${path}.restoring-${freshEpoch}`;
  try {
    claimFile(draft);
    options.step('copying', 0, source.size);
    copyFileSync(from, draft);
    // The copy has the mode of the backup; make it private.
    chmodSync(draft, 0o600);
    const version = checkCopy(draft, options);
    if (!version.ok) return failed(version.error);
    const quarantined = version.value === SCHEMA_VERSION ? beginEpoch(draft, options) : 0;
    syncToDisk(draft);
    const swapped = swap(draft, options);
    if (!swapped.ok) return failed(swapped.error);
    return ok({
      keptAs: swapped.value,
      schemaVersion: version.value,
      quarantinedSubscriptions: quarantined,
    });
  } finally {
    removeFiles([draft, headBefore(draft), auditHeadPath(draft), ...SIDE_FILES.map((end) => draft + end)]);
  }
}

/** SQLite's files next to a database; they must never be used with another file. */
const SIDE_FILES = ['-wal', '-shm', '-journal'] as const;

/** Commits that are only in a side file would be lost silently. */
function unfinishedPart(from: string): string | null {
  for (const end of ['-wal', '-journal']) {
    const bytes = statSync(from + end, { throwIfNoEntry: false })?.size ?? 0;
    if (bytes > 0) {
      return `${from} is incomplete without ${basename(from)}${end} next to it: take a backup of it, and restore that`;
    }
  }
  return null;
}

function checkCopy(copy: string, { from, skipVerify, step }: RestoreOptions): Result<number> {
  if (!skipVerify) {
    const manifest = readManifest(manifestPathOf(from));
    if (!manifest.ok) return failed(manifest.error);
    const { snapshot, bytes, sha256 } = manifest.value;
    if (snapshot !== basename(from)) return fail('BACKUP_UNVERIFIED', `the manifest belongs to ${snapshot}`);
    if (statSync(copy).size !== bytes || fileSha256(copy, step) !== sha256) {
      return fail('BACKUP_DAMAGED', 'the backup does not match its manifest: bytes were changed or lost');
    }
  }
  let version: number;
  step('checking', 0, statSync(copy).size);
  try {
    version = checkedVersion(copy);
  } catch (error) {
    if (error instanceof DatabaseRefusedError) return fail('BACKUP_UNSUPPORTED', error.message);
    if (diskFailure(error, copy) !== null) throw error;
    const isDatabase = sqliteCode(error) !== 'SQLITE_NOTADB';
    return isDatabase
      ? fail('BACKUP_DAMAGED', `the backup is damaged: ${(error as Error).message}`)
      : fail('BACKUP_UNSUPPORTED', 'the file is not a database');
  }
  if (version >= OLDEST_VERSION && version <= SCHEMA_VERSION) return ok(version);
  const known = `this release restores versions ${OLDEST_VERSION} to ${SCHEMA_VERSION}`;
  return fail('BACKUP_UNSUPPORTED', `the backup has schema version ${version}; ${known}`);
}

/**
 * The changes after the backup are gone, so the chain must not continue under the same origin. The audit chain records
 * the restore; the signed heads from before and after it wait next to the copy. Answers how many subscriptions get nothing.
 */
function beginEpoch(copy: string, options: RestoreOptions): number {
  const db = openSqlite(copy);
  try {
    db.pragma('journal_mode = DELETE');
    const heads = readAuditHeads(auditHeadPath(options.path));
    const chain = (head: string) =>
      new AuditChain(db, options.crypto, options.signer, new AuditHeadFile(head, heads));
    const before = chain(headBefore(copy));
    before.takeHead();
    before.committed();
    const audit = chain(auditHeadPath(copy));
    db.transaction(() => {
      switchAndReset(db, options);
      // The owner of the copied database does not own this one.
      db.prepare('DELETE FROM database_owner').run();
      const payload = { backup: basename(options.from), db_epoch: options.freshEpoch };
      audit.append({ agentId: options.by, type: 'database.restored', payload }, options.now);
    })();
    audit.committed();
    return quarantinedSubscriptions(db);
  } finally {
    db.close();
  }
}

/** Operations that are stamped ahead of the clock move to the new epoch. */
function switchAndReset(db: SqliteConnection, options: RestoreOptions): void {
  const { identity, nowMs, freshEpoch } = options;
  const reason = 'restored from backup';
  const begin = () => switchEpoch(db, { peerId: identity.peerId, epoch: freshEpoch, nowMs, reason });
  // Another machine's operations keep their names: it may still run.
  const isMoved = db.prepare('SELECT peer_id FROM log_state').pluck().get() !== identity.peerId;
  if (isMoved) begin();
  const { restamped } = resetWithin(db, { ...options, dryRun: false, reason });
  if (!isMoved && restamped === 0) begin();
}

function swap(draft: string, options: RestoreOptions): Result<string | null> {
  const { path } = options;
  const aside = `${path}.before-restore-${options.now.replace(/[:.-]/g, '')}`;
  const isNew = !existsSync(path);
  const held = isNew ? ok(null) : holdExclusively(path, options);
  if (!held.ok) return failed(held.error);
  try {
    if (!isNew) keep(path, aside);
    // Only a database that cannot be read, or is missing, still has side files.
    if (held.value === null) for (const end of SIDE_FILES) moveAside(path, aside, end);
    lowerHead(draft, path, aside);
    if (!isNew) renameSync(draft, path);
    else if (!appear(draft, path)) return inUse('another process has just made the database');
    raiseHead(draft, path);
    syncToDisk(dirname(path));
    return ok(isNew ? null : aside);
  } catch (error) {
    // The name of the kept file contains the time, to the millisecond.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return inUse('another restore has begun at the same moment');
  } finally {
    held.value?.close();
  }
}

function moveAside(path: string, aside: string, end: string): void {
  if (existsSync(path + end)) renameSync(path + end, aside + end);
}

const headBefore = (draft: string) => `${auditHeadPath(draft)}-before`;

/**
 * Keeps the head of the old database's audit chain with the old database. In its place puts the backup's original head,
 * which is valid for both databases, so a crash during the swap raises no false alarm.
 */
function lowerHead(draft: string, path: string, aside: string): void {
  if (existsSync(auditHeadPath(path))) keep(auditHeadPath(path), auditHeadPath(aside));
  if (existsSync(headBefore(draft))) renameSync(headBefore(draft), auditHeadPath(path));
}

/** Installs the head of the restored chain; a database that must still be migrated has no head. */
function raiseHead(draft: string, path: string): void {
  if (existsSync(auditHeadPath(draft))) renameSync(auditHeadPath(draft), auditHeadPath(path));
  else rmSync(auditHeadPath(path), { force: true });
}

/** Gives the file its name; false when another process has taken the name meanwhile. */
function appear(draft: string, path: string): boolean {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    renameSync(draft, path);
    return true;
  }
}

/** Gives the file a second name, so the first always names a file. */
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
