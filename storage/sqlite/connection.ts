import Database from 'better-sqlite3';
import { FileIdentity } from './file-identity.js';

export type Connection = Database.Database;

/** How SQLite syncs a commit; FULL is the promise that an acknowledgement means durable. */
export type Synchronous = 'FULL' | 'NORMAL' | 'OFF';

/** The name of the database went to another file while it was being opened. */
class FileReplacedError extends Error {}

/** How often a database that is replaced while it is being opened is opened again. */
const OPEN_ATTEMPTS = 5;

/**
 * Opens a read-write connection in WAL mode. `busyTimeoutMs` bounds how long one statement waits for another
 * process; callers that retry on their own keep it short. While it waits for a restore, the name may go to another
 * file: then that one is opened, because two files must never share the name of one write-ahead log.
 */
export function openWriter(
  path: string,
  busyTimeoutMs: number,
  synchronous: Synchronous = 'FULL',
): Connection {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return openOnce(path, busyTimeoutMs, synchronous);
    } catch (error) {
      if (!(error instanceof FileReplacedError) || attempt === OPEN_ATTEMPTS) throw error;
    }
  }
}

function openOnce(path: string, busyTimeoutMs: number, synchronous: Synchronous): Connection {
  const file = path === ':memory:' ? null : new FileIdentity(path);
  const db = new Database(path, { timeout: busyTimeoutMs });
  try {
    if (file !== null) enterWal(db, busyTimeoutMs, file);
    db.pragma(`synchronous = ${synchronous}`);
    db.pragma('foreign_keys = ON');
    db.pragma('temp_store = MEMORY');
    db.pragma('cache_size = -8192');
    // Larger than the default so that a checkpoint does not land in every few batches.
    db.pragma('wal_autocheckpoint = 4000');
    db.pragma('journal_size_limit = 67108864');
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

// The mode is kept in the file, so this takes the exclusive lock only once in a database's life. Two processes that
// take it at once would wait for each other, so SQLite answers one of them BUSY without waiting; that one tries again.
// Reading the mode waits for whoever holds the file alone, so what the name means is looked at after it, and once more
// behind the change. From then on this connection's lock keeps a restore away.
function enterWal(db: Connection, patienceMs: number, file: FileIdentity): void {
  // Processes differ in their step, so that two do not meet again and again.
  const stepMs = 5 + (process.pid % 16);
  for (let waitedMs = 0; ; waitedMs += stepMs) {
    try {
      const mode = db.pragma('journal_mode', { simple: true });
      requireCurrent(file);
      if (mode === 'wal') return;
      db.pragma('journal_mode = WAL');
      requireCurrent(file);
      return;
    } catch (error) {
      if (!isBusy(error) || waitedMs >= patienceMs) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, stepMs);
    }
  }
}

function requireCurrent(file: FileIdentity): void {
  if (!file.isCurrent()) throw new FileReplacedError('the database was replaced while it was being opened');
}

/** Bytes of the file that a reader maps at most: what it reads there needs no copy of its own. */
const MAPPED_BYTES_MAX = 1024 * 1024 * 1024;

/**
 * Opens a connection that cannot write. The file must exist. Each connection's mapping counts as resident memory of
 * its own, so one that reads few rows does without (`mapped` false).
 */
export function openReader(path: string, { mapped = true } = {}): Connection {
  const db = new Database(path, { timeout: 10_000, readonly: true, fileMustExist: true });
  db.pragma('query_only = ON');
  db.pragma('temp_store = MEMORY');
  db.pragma(`cache_size = -${mapped ? 32768 : 4096}`);
  db.pragma(`mmap_size = ${mapped ? MAPPED_BYTES_MAX : 0}`);
  return db;
}

/** SQLite's result code of an error thrown by better-sqlite3, such as SQLITE_BUSY; null for any other error. */
export function sqliteCode(error: unknown): string | null {
  if (error instanceof Database.SqliteError) return error.code;
  return null;
}

export function isBusy(error: unknown): boolean {
  const code = sqliteCode(error);
  return code !== null && (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED'));
}

export function isFull(error: unknown): boolean {
  return sqliteCode(error) === 'SQLITE_FULL';
}

/** True for errors that say that the file itself is damaged. */
export function isUnreadable(error: unknown): boolean {
  return /^SQLITE_(IOERR|CORRUPT|NOTADB)/.test(sqliteCode(error) ?? '');
}

/** True where an index does not agree with its table. The transaction stands, and the index can be built anew. */
export function isIndexDamage(error: unknown): boolean {
  return sqliteCode(error) === 'SQLITE_CORRUPT_INDEX';
}

/** Tables of which SQLite keeps indexes, by name. */
export function indexedTables(db: Connection): readonly string[] {
  const sql = `SELECT name FROM pragma_table_list AS listed
    WHERE schema = 'main' AND type = 'table' AND EXISTS (SELECT 1 FROM pragma_index_list(listed.name)) ORDER BY name`;
  return db.prepare(sql).pluck().all() as string[];
}

/** Looks at every row of a table. */
export function indexesAgree(db: Connection, table: string): boolean {
  try {
    const said = db.pragma(`integrity_check(${quoted(table)})`) as { integrity_check: string }[];
    return !said.some(({ integrity_check }) => /^Tree |\bindex\b|PRIMARY KEY order/.test(integrity_check));
  } catch (error) {
    // An entry or a value that makes no sense ends the check.
    if (isDiskError(error) && !isCorruption(error)) throw error;
    return false;
  }
}

/**
 * Builds the indexes of a table anew, within the transaction; answers why one of them could not be, which then stays as
 * it was.
 */
export function rebuildIndexes(db: Connection, table: string): readonly unknown[] {
  const names = db.prepare('SELECT name FROM pragma_index_list(?)').pluck().all(table) as string[];
  const failures: unknown[] = [];
  for (const name of names) {
    let failure = inSavepoint(db, () => db.exec(`REINDEX ${quoted(name)}`));
    if (isConstraint(failure) && name === TITLES) failure = inSavepoint(db, () => partTitles(db));
    if (failure !== null) failures.push(failure);
  }
  return failures;
}

const TITLES = 'memories_title';

/**
 * A title that the disk changed may now be that of another row, which the index still leads to. The changed one gets a
 * title of its own, no more wrong than before, until the row is made anew like any that is damaged.
 */
function partTitles(db: Connection): void {
  const sql = db.prepare('SELECT sql FROM sqlite_schema WHERE name = ?').pluck().get(TITLES) as string;
  const others = `SELECT 1 FROM memories other INDEXED BY ${TITLES}
    WHERE other.conflict_of IS NULL AND other.title = m.title AND other.namespace = m.namespace AND other.rid <> m.rid`;
  const changed = db
    .prepare(`SELECT rid FROM memories m NOT INDEXED WHERE conflict_of IS NULL AND EXISTS (${others})`)
    .pluck()
    .all();
  db.exec(`DROP INDEX ${TITLES}`);
  const part = db.prepare("UPDATE memories SET title = title || ' #' || rid WHERE rid = ?");
  for (const rid of changed) part.run(rid);
  db.exec(sql);
}

/** Undoes what meets damage, a clash or a value that makes no sense, and answers that; errors of the disk are thrown. */
function inSavepoint(db: Connection, run: () => void): unknown {
  db.exec('SAVEPOINT rebuild');
  let failure: unknown = null;
  try {
    run();
  } catch (error) {
    if (!db.inTransaction || (isDiskError(error) && !isCorruption(error))) throw error;
    db.exec('ROLLBACK TO rebuild');
    failure = error;
  }
  db.exec('RELEASE rebuild');
  return failure;
}

const isCorruption = (error: unknown) => sqliteCode(error)?.startsWith('SQLITE_CORRUPT') === true;
const isConstraint = (error: unknown) => sqliteCode(error)?.startsWith('SQLITE_CONSTRAINT') === true;
const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** True for errors of the file or the disk, which concern the whole transaction and not one statement. */
export function isDiskError(error: unknown): boolean {
  const code = sqliteCode(error);
  return (
    code !== null && /^SQLITE_(FULL|IOERR|CORRUPT|NOTADB|BUSY|LOCKED|READONLY|CANTOPEN|NOMEM)/.test(code)
  );
}
