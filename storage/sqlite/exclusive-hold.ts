import { OWNER_LEASE_MS } from '../../protocol/base/limits.js';
import { fail, ok, type Result } from '../../protocol/base/result.js';
import { diskFailure } from '../disk-failure.js';
import { FileIdentity } from './file-identity.js';
import { openSqlite } from './open-sqlite.js';
import type { SqliteConnection } from './sqlite-connection.js';
import { isBusy, isUnreadable } from './sqlite-errors.js';

/** The parameters of a process that takes a database exclusively. */
export interface HoldOptions {
  readonly nowMs: number;
  /** Random; two processes that begin at the same time wait for different times. */
  readonly freshEpoch: string;
}

/**
 * Takes the database exclusively for this process: DATABASE_IN_USE when another process has it open. Null for a file
 * that cannot be read, because no process can lock it either.
 */
export function holdExclusively(
  path: string,
  { nowMs, freshEpoch }: HoldOptions,
): Result<SqliteConnection | null> {
  const stepMs = 10 + ([...freshEpoch].reduce((sum, each) => sum + each.charCodeAt(0), 0) % 40);
  for (let attempt = 1; ; attempt += 1) {
    const held = tryToHold(path, nowMs);
    if (held !== 'busy') return held;
    if (attempt === HOLD_ATTEMPTS) return inUse('another process has the database open');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, attempt * stepMs);
  }
}

const HOLD_ATTEMPTS = 5;

/**
 * Takes the database exclusively for this process and folds the write-ahead log into it: leaving WAL mode requires that
 * no other process has it open. Null for a file that cannot be read, because no process can lock it either. A full disk
 * or a missing permission throws, because such a database may well be in use.
 */
function tryToHold(path: string, nowMs: number): Result<SqliteConnection | null> | 'busy' {
  const file = new FileIdentity(path);
  const db = openSqlite(path, { fileMustExist: true, timeout: 0 });
  try {
    const owner = ownerOf(db, nowMs);
    if (owner !== null) {
      db.close();
      return inUse(`${owner} owns the database`);
    }
    db.pragma('locking_mode = EXCLUSIVE');
    db.pragma('journal_mode = DELETE');
    db.exec('BEGIN EXCLUSIVE; COMMIT');
    if (!file.isCurrent()) {
      db.close();
      return inUse('another restore was faster');
    }
    return ok(db);
  } catch (error) {
    db.close();
    if (isBusy(error)) return 'busy';
    if (isUnreadable(error) && diskFailure(error, path) === null) return ok(null);
    throw error;
  }
}

/** The failure of a caller that needs the database exclusively. */
export const inUse = (who: string) =>
  fail('DATABASE_IN_USE', `${who}: stop it first (after a crash, wait ten seconds); nothing was changed`);

function ownerOf(db: SqliteConnection, nowMs: number): string | null {
  const table = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'database_owner'").get();
  if (table === undefined) return null;
  // A lease that ends too late was made before the clock was set back.
  const owner = db
    .prepare('SELECT holder FROM database_owner WHERE expires_at_ms > ? AND expires_at_ms <= ?')
    .get(nowMs, nowMs + 2 * OWNER_LEASE_MS) as { holder: string } | undefined;
  return owner?.holder ?? null;
}
