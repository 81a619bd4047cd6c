import { closeSync, copyFileSync, existsSync, linkSync, openSync, rmSync } from 'node:fs';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import { SCHEMA_VERSION } from '../../protocol/base/schema-version.js';
import { instantFromMs } from '../../protocol/base/time.js';
import type { ResetClockOutcome } from '../../protocol/replication/reset-clock.js';
import { syncToDisk } from '../atomic-file.js';
import { connect, refusalOf } from '../postgres/open-postgres.js';
import { PostgresError } from '../postgres/postgres-errors.js';
import { postgresSchemaVersion, prepareSchema } from '../postgres/prepare-schema.js';
import { LOCKS } from '../postgres/server-presence.js';
import { TAKE_LOCK, WRITER_LOCK } from '../postgres/writer-statements.js';
import type { Connection } from '../sql/connection.js';
import {
  type Copied,
  CopiedByAnotherError,
  type CopyProgress,
  copyDatabase,
  countRows,
  type TableShape,
} from '../sql/copy-database.js';
import { unfinishedCopy } from '../sql/unfinished-copy.js';
import { openWriter } from '../sqlite/connection.js';
import { holdExclusively } from '../sqlite/exclusive-hold.js';
import { schemaVersion } from '../sqlite/file-schema.js';
import { followKinds, makeTables } from '../sqlite/open-database.js';
import { type ResetClockOptions, resetWithin } from '../sqlite/reset-clock.js';
import { tableShapes } from '../sqlite/table-shapes.js';
import type { DatabasePlace } from './open.js';

type ServerPlace = Extract<DatabasePlace, { engine: 'postgres' }>;

export interface MoveOptions {
  /** How the source is called where people read it. */
  readonly source: string;
  readonly batchRows: number;
  readonly nowMs: number;
  /** 16 random hex characters. */
  readonly freshToken: string;
  /** True only counts, and says whether the copy can begin. */
  readonly dryRun: boolean;
  readonly step: CopyProgress;
}

/** A copy, or with `dryRun` what would be copied. */
export type Moved = Omit<Copied, 'digest'> & { readonly digest: string | null };

/**
 * Copies the whole database of a node to another place, with the node's identity, its log and its audit chain. No process may
 * use either side: DATABASE_IN_USE. What was interrupted goes on. NOT_FOUND, MIGRATION_REFUSED, CONFLICT.
 */
export function moveDatabase(from: DatabasePlace, to: DatabasePlace, options: MoveOptions): Result<Moved> {
  const source = openSource(from, options);
  if (!source.ok) return failed(source.error);
  const db = source.value;
  try {
    const tables = tableShapes();
    if (options.dryRun) return look(db, to, tables);
    const target =
      to.engine === 'sqlite' ? intoFile(to.path, db, tables, options) : intoServer(to, db, tables, options);
    if (target.ok) copyHeads(from, to);
    return target;
  } catch (error) {
    if (error instanceof CopiedByAnotherError)
      return fail('DATABASE_IN_USE', `${error.message}; this run has ended`);
    throw error instanceof PostgresError ? refusalOf(error) : error;
  } finally {
    db.close();
  }
}

/** What a dry run answers: the rows of the source, and why the target cannot take them. */
function look(db: Connection, to: DatabasePlace, tables: readonly TableShape[]): Result<Moved> {
  const rows = countRows(db, tables);
  const answer = { rows, written: {}, batches: 0, resumed: false, digest: null };
  if (to.engine === 'sqlite') return existsSync(to.path) ? taken(to.path) : ok(answer);
  const target = connect({ ...to, readOnly: true }, () => {});
  try {
    if (postgresSchemaVersion(target) === 0) return ok(answer);
    if (unfinishedCopy(target) !== null) return ok({ ...answer, resumed: true });
    const filled = Object.entries(countRows(target, tables)).filter(([, count]) => count > 0);
    if (filled.length === 0) return ok(answer);
    return fail(
      'CONFLICT',
      `the target is not empty: it has rows in ${filled.map(([table]) => table).join(', ')}`,
    );
  } finally {
    target.close();
  }
}

const taken = (path: string) => fail('CONFLICT', `${path} exists: a copy goes into a new file`);

/** Opens the source, which nobody else writes until it is closed. */
function openSource(place: DatabasePlace, options: MoveOptions): Result<Connection> {
  if (place.engine === 'postgres') return holdServer(place, options.nowMs);
  const { path } = place;
  if (!existsSync(path)) return fail('NOT_FOUND', `there is no database at ${path}`);
  const held = holdExclusively(path, { nowMs: options.nowMs, freshEpoch: options.freshToken });
  if (!held.ok) return failed(held.error);
  const db = held.value;
  if (db === null) return fail('DATABASE_ERROR', `${path} cannot be read as a database: restore a backup`);
  try {
    if (schemaVersion(db) !== SCHEMA_VERSION) {
      db.close();
      return fail(
        'MIGRATION_REFUSED',
        `${path} is of another release: start the node on it once, then stop it`,
      );
    }
    followKinds(db);
    return ok(db);
  } catch (error) {
    db.close();
    throw error;
  }
}

/** The lock of the writers is held by a transaction, whose reads see one state. */
function holdServer(place: ServerPlace, nowMs: number): Result<Connection> {
  const db = connect({ ...place, readOnly: false }, (opened) => {
    if (postgresSchemaVersion(opened) > 0) prepareSchema(opened, nowMs);
  });
  const refused = (problem: Result<never>) => {
    db.close();
    return problem;
  };
  if (postgresSchemaVersion(db) === 0)
    return refused(fail('NOT_FOUND', 'the source has no tables of this program'));
  if (unfinishedCopy(db) !== null)
    return refused(fail('CONFLICT', 'the source is an unfinished copy itself: finish that one first'));
  if (db.prepare('SELECT 1 FROM log_state').get() === undefined)
    return refused(fail('NOT_FOUND', 'the source is empty: no node has written to it'));
  const owner = ownerOf(db);
  if (owner !== null) return refused(inUse(owner));
  db.prepare(`SELECT pg_advisory_lock(${WRITER_LOCK})`).get();
  db.prepare('BEGIN ISOLATION LEVEL REPEATABLE READ').run();
  db.prepare(TAKE_LOCK).get();
  db.script('SET LOCAL idle_in_transaction_session_timeout = 0');
  return ok(db);
}

const inUse = (owner: string) =>
  fail(
    'DATABASE_IN_USE',
    `${owner} owns the database: stop its node first (after a crash, wait ten seconds); nothing was changed`,
  );

/** A process that serves the database: each holds a lock of its own. */
function ownerOf(db: Connection): string | null {
  const lives = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid = ${LOCKS}::oid AND objsubid = 2 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) LIMIT 1`;
  if (db.prepare(lives).get() === undefined) return null;
  return (
    db.prepare<[], string>('SELECT holder FROM database_owner').pluck().get() ?? 'a process of this program'
  );
}

const partsOf = (from: Connection, to: Connection, tables: readonly TableShape[], options: MoveOptions) => ({
  ...{ from, to, tables, source: options.source, batchRows: options.batchRows, step: options.step },
  now: instantFromMs(options.nowMs),
});

function intoServer(
  place: ServerPlace,
  from: Connection,
  tables: readonly TableShape[],
  options: MoveOptions,
): Result<Moved> {
  const to = connect({ ...place, readOnly: false }, (db) => void prepareSchema(db, options.nowMs));
  try {
    const owner = ownerOf(to);
    return owner === null ? copyDatabase(partsOf(from, to, tables, options)) : inUse(owner);
  } finally {
    to.close();
  }
}

/** The file gets its name when the copy is whole. */
function intoFile(
  path: string,
  from: Connection,
  tables: readonly TableShape[],
  options: MoveOptions,
): Result<Moved> {
  if (existsSync(path)) return taken(path);
  const draft = `${path}.migrating`;
  // No other user may read it.
  closeSync(openSync(draft, 'a', 0o600));
  const to = openWriter(draft, 1000, 'NORMAL');
  try {
    if (schemaVersion(to) === 0) to.transaction(() => makeTables(to, options.nowMs))();
    followKinds(to);
    const copied = copyDatabase(partsOf(from, to, tables, options));
    if (!copied.ok) return failed({ ...copied.error, message: `${draft}: ${copied.error.message}` });
    to.pragma('wal_checkpoint(TRUNCATE)');
    to.close();
    syncToDisk(draft);
    // Fails where a file of this name has appeared meanwhile.
    linkSync(draft, path);
    rmSync(draft);
    return copied;
  } finally {
    to.close();
  }
}

/** The file that says how far the audit chain has come goes along. */
function copyHeads(from: DatabasePlace, to: DatabasePlace): void {
  const [one, other] = [from, to].map((place) =>
    place.engine === 'sqlite' ? `${place.path}.audit-head` : place.auditHeadPath,
  );
  if (existsSync(one!)) copyFileSync(one!, other!);
}

/** DATABASE_IN_USE while a process serves a database of a server. */
export function unusedServer(place: ServerPlace): Result<null> {
  const db = connect({ ...place, readOnly: true }, () => {});
  try {
    const owner = ownerOf(db);
    return owner === null ? ok(null) : inUse(owner);
  } catch (error) {
    throw error instanceof PostgresError ? refusalOf(error) : error;
  } finally {
    db.close();
  }
}

/** Sets the clock of a log on a server back to the present: DATABASE_IN_USE while a process serves the database. */
export function resetServerClock(
  place: ServerPlace,
  options: Omit<ResetClockOptions, 'path'>,
): Result<ResetClockOutcome> {
  const db = connect({ ...place, readOnly: false }, () => {});
  try {
    if (postgresSchemaVersion(db) !== SCHEMA_VERSION)
      return fail('NOT_FOUND', 'the database has no tables of this release');
    db.beginWrite();
    const owner = ownerOf(db);
    const outcome =
      owner === null ? ok(resetWithin(db, { ...options, reason: 'the clock was ahead' })) : inUse(owner);
    db.exec(outcome.ok ? 'COMMIT' : 'ROLLBACK');
    return outcome;
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK');
    throw error instanceof PostgresError ? refusalOf(error) : error;
  } finally {
    db.close();
  }
}
