import { existsSync } from 'node:fs';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import { SCHEMA_VERSION } from '../../protocol/base/schema-version.js';
import type { Crypto } from '../../protocol/base/seams.js';
import { instantFromMs } from '../../protocol/base/time.js';
import { diskFailure } from '../disk-failure.js';
import { DERIVED_OBJECTS } from '../sql/schema.js';
import { type HoldOptions, holdExclusively } from './exclusive-hold.js';
import { schemaVersion } from './file-schema.js';
import { indexAllTexts } from './index-texts.js';
import { separateIds, separateTitles } from './repair-clashes.js';
import { linesOf } from './self-check.js';
import type { SqliteConnection } from './sqlite-connection.js';
import { isUnreadable, sqliteCode } from './sqlite-errors.js';

export interface RepairOptions extends HoldOptions {
  readonly path: string;
  readonly crypto: Crypto;
  /** Is told about each step. */
  readonly step: (name: string) => void;
}

/** What a repair of the file found and did. */
export interface RepairedDatabase {
  /** SQLite's findings about the file before the repair, the first few lines. */
  readonly found: readonly string[];
  /** Indexes that were built again. */
  readonly indexes: number;
  /** Rows whose text was indexed again. */
  readonly texts: number;
  /** Ids of rows that had the id or title of another row. */
  readonly clashes: readonly string[];
  /** The problems that remain. */
  readonly left: readonly string[];
}

const LINES_MAX = 20;
const RESTORE = 'keep a copy of the file and restore a backup';

/**
 * Rebuilds everything that SQLite derives from the rows: indexes and full text. Needs the database exclusively. Damaged
 * rows are repaired afterwards from the log: this marks the `clashes` for that repair.
 */
export function repairDatabase(options: RepairOptions): Result<RepairedDatabase> {
  const { path } = options;
  if (!existsSync(path)) return fail('NOT_FOUND', `there is no database at ${path}`);
  const held = holdExclusively(path, options);
  if (!held.ok) return failed(held.error);
  const db = held.value;
  if (db === null) return fail('DATABASE_ERROR', `${path} cannot be read as a database: ${RESTORE}`);
  try {
    const version = schemaVersion(db);
    if (version === 0) return fail('DATABASE_ERROR', `${path} holds no tables: ${RESTORE}`);
    if (version !== SCHEMA_VERSION) {
      const message = `the database has schema version ${version}, and only version ${SCHEMA_VERSION} is repaired: start the node once`;
      return fail('MIGRATION_REFUSED', message);
    }
    return ok(repaired(db, options));
  } catch (error) {
    if (!isUnreadable(error) || diskFailure(error, path) !== null) throw error;
    const why = `${sqliteCode(error)}: ${(error as Error).message}`;
    return fail(
      'DATABASE_ERROR',
      `the tables themselves are damaged (${why}); nothing was changed: ${RESTORE}`,
    );
  } finally {
    db.close();
  }
}

function repaired(db: SqliteConnection, { crypto, nowMs, step }: RepairOptions): RepairedDatabase {
  step('checking');
  const found = integrityOf(db);
  // Lets a row be changed even when its index entry is wrong.
  db.unsafeMode(true);
  db.pragma('writable_schema = ON');
  db.exec('BEGIN EXCLUSIVE');
  try {
    step('building indexes');
    const problems: string[] = [];
    const built = indexesOf(db, (table) => table !== 'memories').map((name) => reindex(db, name, problems));
    const clashes = partClashes(db, crypto);
    built.push(...indexesOf(db, (table) => table === 'memories').map((name) => reindex(db, name, problems)));
    step('indexing texts');
    const texts = rebuildTexts(db);
    const now = instantFromMs(nowMs);
    const mark = db.prepare("INSERT OR IGNORE INTO suspects (kind, id, noted_at) VALUES ('memory', ?, ?)");
    for (const id of clashes) mark.run(id, now);
    db.exec('COMMIT');
    step('checking');
    const left = [...problems, ...integrityOf(db)].slice(0, LINES_MAX);
    return { found, indexes: built.filter(Boolean).length, texts, clashes, left };
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

function integrityOf(db: SqliteConnection): readonly string[] {
  return linesOf(db, `integrity_check(${LINES_MAX})`).filter((line) => line !== 'ok');
}

function indexesOf(db: SqliteConnection, concerns: (table: string) => boolean): readonly string[] {
  const rows = db
    .prepare("SELECT name, tbl_name AS of FROM sqlite_schema WHERE type = 'index' ORDER BY name")
    .all() as { name: string; of: string }[];
  return rows.filter((row) => concerns(row.of)).map(({ name }) => name);
}

/** Builds one index again; when that fails, the index stays as it was. */
function reindex(db: SqliteConnection, name: string, problems: string[]): boolean {
  db.exec('SAVEPOINT one');
  try {
    db.exec(`REINDEX ${quoted(name)}`);
    db.exec('RELEASE one');
    return true;
  } catch (error) {
    if (!db.inTransaction) throw error;
    db.exec('ROLLBACK TO one; RELEASE one');
    problems.push(`the index ${name} could not be built: ${(error as Error).message}`);
    return false;
  }
}

const TITLES = 'memories_title';

function partClashes(db: SqliteConnection, crypto: Crypto): readonly string[] {
  // It would refuse equal titles.
  db.exec(`DROP INDEX IF EXISTS ${TITLES}`);
  const concerned = [...separateIds(db, crypto), ...separateTitles(db, crypto)];
  createMissing(db);
  return [...new Set(concerned)];
}

/** Creates the derived objects of the schema that the file lacks; a local table may come only at the next start. */
function createMissing(db: SqliteConnection): void {
  const statement = db.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?');
  const exists = (name: string) => statement.get(name) !== undefined;
  for (const { name, sql } of DERIVED_OBJECTS) {
    const table = / ON (\w+)/.exec(sql)?.[1];
    if (!exists(name) && (table === undefined || exists(table))) db.exec(sql);
  }
}

function rebuildTexts(db: SqliteConnection): number {
  db.exec('DROP TABLE IF EXISTS memories_fts');
  createMissing(db);
  return indexAllTexts(db);
}

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
