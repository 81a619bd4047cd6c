import { createHash } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Secret } from '../../node/config/secret.js';
import type { Settings } from '../../node/config/settings.js';
import type { DatabasePlace } from '../../storage/open/open.js';
import { openPostgres } from '../../storage/postgres/open-postgres.js';
import { PostgresConnection } from '../../storage/postgres/postgres-connection.js';
import type { PostgresError } from '../../storage/postgres/postgres-errors.js';
import type { Connection } from '../../storage/sql/connection.js';
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

const nameOf = (path: string): string =>
  `t_${createHash('sha256').update(resolve(path)).digest('hex').slice(0, 20)}`;

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

/** A path for a database in memory, which nobody else has. */
function ownPath(): string {
  inMemory += 1;
  return `/memory/${process.pid}/${inMemory}`;
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
  return { ...settings, storeUrl: new Secret(storeUrlOf(dbPath === ':memory:' ? ownPath() : dbPath)) };
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
  const url = storeUrlOf(options.path === ':memory:' ? ownPath() : options.path);
  return openPostgres({ url, statementTimeoutMs: STATEMENT_TIMEOUT_MS }, options);
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

/** The folder of the journals of imports beside the database of a home; null before the first import. */
export function journalsOf(home: string): string | null {
  const name = readdirSync(home).find((each) => each.endsWith('.imports'));
  return name === undefined ? null : join(home, name);
}
