import { createHash } from 'node:crypto';
import { existsSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { Secret } from '../../node/config/secret.js';
import type { Settings } from '../../node/config/settings.js';
import { shownStoreUrl } from '../../node/config/store-url.js';
import type { DatabasePlace } from '../../storage/open/open.js';
import { initialiseServer } from '../../storage/postgres/initialise-server.js';
import { openPostgres } from '../../storage/postgres/open-postgres.js';
import { PostgresConnection } from '../../storage/postgres/postgres-connection.js';
import type { PostgresError } from '../../storage/postgres/postgres-errors.js';
import type { Connection } from '../../storage/sql/connection.js';
import type { WriterStart } from '../../storage/sql/database-setup.js';
import type { OpenOptions } from '../../storage/sqlite/file-schema.js';
import { openDatabase } from '../../storage/sqlite/open-database.js';
import { openSqlite } from '../../storage/sqlite/open-sqlite.js';
import { SqliteConnection } from '../../storage/sqlite/sqlite-connection.js';

/** True where the tests run on PostgreSQL: `TEST_STORE=postgres`, with the address of a server in `PG_TEST_URL`. */
export const onPostgres = testStore() === 'postgres';

/** Leaves a test out on PostgreSQL, with the reason; false where it runs. */
export const onlyOnSqlite = (why: string): string | false => onPostgres && `only for SQLite: ${why}`;

function testStore(): 'sqlite' | 'postgres' {
  const named = process.env['TEST_STORE'] ?? 'sqlite';
  if (named !== 'sqlite' && named !== 'postgres')
    throw new Error(`TEST_STORE is ${named}, and must be sqlite or postgres`);
  return named;
}

const STATEMENT_TIMEOUT_MS = 30_000;

/** The databases that this process has asked for, by name; those that it made go when it ends. */
const databases = new Map<string, 'made' | 'there'>();
let admin: PostgresConnection | null = null;

function administrate(sql: string): void {
  if (admin === null) {
    const url = serverUrl('postgres');
    admin = new PostgresConnection({ url, statementTimeoutMs: STATEMENT_TIMEOUT_MS, readOnly: false });
    process.once('exit', dropDatabases);
  }
  admin.script(sql);
}

function dropDatabases(): void {
  for (const [name, how] of databases)
    if (how === 'made') admin!.script(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
}

function serverUrl(database: string): string {
  const given = process.env['PG_TEST_URL'];
  if (given === undefined)
    throw new Error(
      'TEST_STORE=postgres needs the address of a server in PG_TEST_URL, or: node cli/dev/test.mjs --store postgres',
    );
  const url = new URL(given);
  url.pathname = `/${database}`;
  return url.href;
}

const DUPLICATE_DATABASE = '42P04';

/** One name however the path of the folder is spelled. */
function nameOf(path: string): string {
  const folder = dirname(resolve(path));
  const real = join(existsSync(folder) ? realpathSync(folder) : folder, basename(path));
  return `t_${createHash('sha256').update(real).digest('hex').slice(0, 20)}`;
}

/** The address of the database that stands for a file; it is made when somebody asks first, and sorts by the rules of a language. */
export function storeUrlOf(path: string): string {
  const name = nameOf(path);
  if (!databases.has(name)) databases.set(name, created(name));
  return serverUrl(name);
}

function created(name: string): 'made' | 'there' {
  try {
    administrate(
      `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'en-US'`,
    );
    return 'made';
  } catch (error) {
    if ((error as PostgresError).code === DUPLICATE_DATABASE) return 'there';
    throw error;
  }
}

let inMemory = 0;

/** The address of a database in memory, which nobody else has. Its tables are there. */
function ownStoreUrl(): string {
  inMemory += 1;
  const name = nameOf(`/memory/${process.pid}/${inMemory}`);
  administrate(`CREATE DATABASE ${name} TEMPLATE ${templateName()} STRATEGY file_copy`);
  databases.set(name, 'made');
  return serverUrl(name);
}

let template: string | null = null;

/** Tests write it, to damage what they stored. */
const ZEROBLOB = `CREATE FUNCTION zeroblob(length integer) RETURNS bytea LANGUAGE sql IMMUTABLE AS
  $$ SELECT decode(repeat('00', length), 'hex') $$`;

/** A database with all tables and no rows. */
function templateName(): string {
  if (template !== null) return template;
  template = nameOf(`/memory/${process.pid}/template`);
  databases.set(template, created(template));
  const place = { url: serverUrl(template), statementTimeoutMs: STATEMENT_TIMEOUT_MS };
  initialiseServer(place, { nowMs: 0, dim: null });
  const db = openServer(place.url) as PostgresConnection;
  db.script(ZEROBLOB);
  db.close();
  return template;
}

/** Databases in memory that a process keeps: tests leave them open, as memory goes by itself, and a server has few sessions. */
const IN_MEMORY_MAX = 64;
const kept: { readonly db: Connection; readonly name: string }[] = [];

function openInMemory(start: WriterStart): Connection {
  const url = ownStoreUrl();
  const db = openPostgres({ url, statementTimeoutMs: STATEMENT_TIMEOUT_MS }, start);
  kept.push({ db, name: new URL(url).pathname.slice(1) });
  if (kept.length > IN_MEMORY_MAX) {
    const oldest = kept.shift()!;
    oldest.db.close();
    databases.delete(oldest.name);
    administrate(`DROP DATABASE IF EXISTS ${oldest.name} WITH (FORCE)`);
  }
  return db;
}

const fileOf = (home: string): string => join(home, 'mnemesh.db');

/** Takes the database of a home away, so that the next process there begins with an empty one. */
export function forgetStore(home: string): void {
  if (onPostgres) {
    const name = nameOf(fileOf(home));
    if (databases.delete(name)) administrate(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    return;
  }
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${fileOf(home)}${suffix}`, { force: true });
}

/**
 * The environment of a process whose home is this one: on PostgreSQL with the address of the database of its file. A process that
 * names an address itself keeps it, also an empty one.
 */
export function withStoreUrl(home: string, extra: Record<string, string>): Record<string, string> {
  if (!onPostgres || 'SVC_STORE_URL' in extra || 'SVC_STORE_URL_FILE' in extra) return extra;
  const { SVC_DB: path = fileOf(extra['SVC_HOME'] ?? home), ...others } = extra;
  return { ...others, SVC_STORE_URL: storeUrlOf(path) };
}

/** Settings of a node in this process: on PostgreSQL with the address of the database of its file. */
export function onTestStore(settings: Settings): Settings {
  if (!onPostgres || settings.storeUrl !== null) return settings;
  const { dbPath } = settings;
  return { ...settings, storeUrl: new Secret(dbPath === ':memory:' ? ownStoreUrl() : storeUrlOf(dbPath)) };
}

/** Where the database of a file is. */
export const testPlace = (path: string): DatabasePlace =>
  onPostgres
    ? {
        engine: 'postgres',
        url: storeUrlOf(path),
        statementTimeoutMs: STATEMENT_TIMEOUT_MS,
        auditHeadPath: `${path}.audit-head`,
      }
    : { engine: 'sqlite', path, synchronous: 'FULL' };

/** Opens, creates or migrates a database of this process; with a path, that of other processes on the same file. */
export function openTestDatabase(options: OpenOptions): Connection {
  if (!onPostgres) return openDatabase(options);
  if (options.path === ':memory:') return openInMemory(options);
  return openPostgres({ url: storeUrlOf(options.path), statementTimeoutMs: STATEMENT_TIMEOUT_MS }, options);
}

/** A plain connection beside the nodes of a home, of a file, or of a database of a server. */
export function openBeside(
  place: { readonly home: string } | { readonly path: string } | { readonly url: string },
): Connection {
  if ('url' in place) return openServer(place.url);
  const path = 'home' in place ? fileOf(place.home) : place.path;
  return onPostgres ? openServer(storeUrlOf(path)) : openSqlite(path, { timeout: 5000 });
}

const openServer = (url: string): Connection =>
  new PostgresConnection({ url, statementTimeoutMs: STATEMENT_TIMEOUT_MS, readOnly: false });

/** The file or the bytes behind a connection; only for tests that are about them. */
export function asSqlite(db: Connection): SqliteConnection {
  if (db instanceof SqliteConnection) return db;
  throw new Error('this test is about a file of SQLite: leave it out with onlyOnSqlite');
}

/** Gives a home whose folder was copied the content of the other one's database. */
export function copyStore(from: string, to: string): void {
  if (!onPostgres) return;
  const [source, name] = [nameOf(fileOf(from)), nameOf(fileOf(to))];
  administrate(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  administrate(`CREATE DATABASE ${name} TEMPLATE ${source}`);
  databases.set(name, 'made');
}

/** Lets a test change the audit chain, which only grows otherwise. */
export function letAuditChange(db: Connection): void {
  db.exec(
    onPostgres
      ? 'DROP TRIGGER IF EXISTS signed_events_no_change ON signed_events'
      : 'DROP TRIGGER IF EXISTS signed_events_no_update; DROP TRIGGER IF EXISTS signed_events_no_delete;',
  );
}

/** How the database of a home is called where people read it. */
export const shownStore = (home: string): string =>
  onPostgres ? shownStoreUrl(new Secret(storeUrlOf(fileOf(home)))) : fileOf(home);

/** Makes the database of a home one that cannot be used: a file of other bytes, or a server that does not run; the variables for it. */
export function unusableStore(home: string): Record<string, string> {
  if (onPostgres) return { SVC_STORE_URL: 'postgres://postgres@127.0.0.1:1/none' };
  writeFileSync(fileOf(home), 'no database, but long enough to be looked at'.repeat(100));
  return {};
}

/** The folder of the journals of imports beside the database of a home; null before the first import. */
export function journalsOf(home: string): string | null {
  const name = readdirSync(home).find((each) => each.endsWith('.imports'));
  return name === undefined ? null : join(home, name);
}
