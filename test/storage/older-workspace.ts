import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'node:test';
import { openDatabase } from '../../storage/sqlite/open-database.js';
import { openSqlite } from '../../storage/sqlite/open-sqlite.js';
import type { SqliteConnection } from '../../storage/sqlite/sqlite-connection.js';
import { event } from '../support/wait.js';
import { makeOlderDatabase, openOptions } from './older-databases.js';
import type { Row } from './older-memories.js';

/** When the tests upgrade. */
export const NOW_MS = Date.UTC(2026, 2, 1);

export const all = (db: SqliteConnection, sql: string, ...parameters: unknown[]): Row[] =>
  db.prepare(sql).all(...parameters) as Row[];
export const one = (db: SqliteConnection, sql: string, ...parameters: unknown[]): Row =>
  all(db, sql, ...parameters)[0]!;

/** A directory for each test, with its databases; all of it is gone afterwards. */
export function workspace() {
  let directory = '';
  let open: SqliteConnection[] = [];
  const closeAll = (): void => {
    for (const db of open) db.close();
    open = [];
  };
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'migrations-'));
  });
  afterEach(() => {
    closeAll();
    rmSync(directory, { recursive: true, force: true });
  });
  const tracked = (db: SqliteConnection): SqliteConnection => {
    open.push(db);
    return db;
  };
  return {
    tracked,
    closeAll,
    file: (name: string): string => join(directory, name),
    /** A closed file of an older version. */
    olderFile(version: number, options: Parameters<typeof makeOlderDatabase>[2] = {}): string {
      const path = join(directory, 'm.db');
      makeOlderDatabase(path, version, options).close();
      return path;
    },
    /** Opens a file as the product does. */
    migrated: (path: string, epoch?: string): SqliteConnection =>
      tracked(openDatabase(openOptions(path, NOW_MS, epoch))),
    /** Names of snapshots and manifests. */
    backups: (): string[] => readdirSync(directory).filter((name) => name.includes('.pre-migration-')),
  };
}

/** Everything that a database holds, for comparing before and after. */
export function dump(path: string): unknown {
  const db = openSqlite(path, { readonly: true });
  try {
    const schema = all(db, 'SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name');
    const tables = schema.filter(
      (object) => object['type'] === 'table' && !String(object['sql']).includes('VIRTUAL'),
    );
    const rows = tables.map(({ name }) => [name, all(db, `SELECT * FROM "${name}"`)]);
    return { schema, rows };
  } finally {
    db.close();
  }
}

/** A module of this build, as a string literal for a child's script. */
export const url = (relative: string): string => JSON.stringify(new URL(relative, import.meta.url).href);

/** A script that opens a database and says what came of it; with `waits` it says `ready` and waits for `go`. */
export function openingScript(path: string, epoch = 'cccccccccccccccc', waits = false): string {
  return `
    import { once } from 'node:events';
    import { openDatabase } from ${url('../../storage/sqlite/open-database.js')};
    import { DatabaseRefusedError } from ${url('../../storage/sql/database-setup.js')};
    import { schemaVersion } from ${url('../../storage/sqlite/file-schema.js')};
    import { openOptions } from ${url('./older-databases.js')};
    if (${waits}) {
      console.log('ready');
      await once(process.stdin, 'data');
    }
    try {
      const db = openDatabase(openOptions(${JSON.stringify(path)}, ${NOW_MS}, '${epoch}'));
      console.log('opened ' + schemaVersion(db));
      db.close();
    } catch (error) {
      console.log((error instanceof DatabaseRefusedError ? 'refused: ' : 'failed: ') + error.message);
    }
    process.exit(0);
  `;
}

export interface ChildResult {
  output: string;
  code: number | null;
  signal: string | null;
}

/** Runs a script in a process of its own; `fileSizeLimitKiB` makes larger writes fail as on a full disk. */
export function startChild(script: string, { fileSizeLimitKiB = 0 } = {}) {
  const node = [process.execPath, '--input-type=module', '-e', script];
  const child =
    fileSizeLimitKiB === 0
      ? spawn(node[0]!, node.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] })
      : spawn('bash', ['-c', `ulimit -f ${fileSizeLimitKiB}; exec "$@"`, 'limited', ...node], {
          stdio: ['pipe', 'pipe', 'inherit'],
        });
  let output = '';
  let announce = (): void => {};
  let giveUp = (_reason: Error): void => {};
  const ready = new Promise<void>((resolve, reject) => {
    announce = resolve;
    giveUp = reject;
  });
  ready.catch(() => {});
  child.on('close', () => giveUp(new Error(`the child ended before it was ready: ${output}`)));
  child.stdout.on('data', (data) => {
    output += String(data);
    if (output.includes('ready')) announce();
  });
  const done = event('the child ends', child, 'close', { withinMs: 120_000, seen: () => output }).then(
    ([code, signal]): ChildResult => ({
      output,
      code: code as number | null,
      signal: signal as string | null,
    }),
  );
  return { ready, done, go: () => child.stdin.write('go\n') };
}

export function runChild(script: string, options: { fileSizeLimitKiB?: number } = {}): Promise<ChildResult> {
  return startChild(script, options).done;
}
