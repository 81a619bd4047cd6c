import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type Database from 'better-sqlite3';
import { StartRefusedError } from '../../protocol/base/start-refused.js';
import { SqliteConnection } from './sqlite-connection.js';

/** What SQLite itself is compiled to is missing, or was compiled for another Node. */
export class SqliteMissingError extends StartRefusedError {}

/** Opens a database file, or the bytes of one. Throws SqliteMissingError where the native part of SQLite cannot be loaded. */
export function openSqlite(source: string | Buffer, options?: Database.Options): SqliteConnection {
  requireSafeBuild();
  try {
    return new SqliteConnection(source, options);
  } catch (error) {
    const problem = loadProblem(error);
    throw problem === null ? error : missing(problem, error);
  }
}

const missing = (problem: string, cause?: unknown) =>
  new SqliteMissingError('CONFIG_INVALID', `${problem}\nrun: ${mendingCommand()}`, { cause });

let isSafe = false;

/**
 * Refuses a native part that was compiled here for Node 24.19 or newer without `native-objects.h`: it would abort this
 * process at some later moment. The compiler's list of its files says so; one that was fetched has no such list.
 */
function requireSafeBuild(): void {
  if (isSafe || !needsHeader()) return;
  const list = 'build/Release/.deps/Release/obj.target/better_sqlite3/src/better_sqlite3.o.d';
  const path = join(packageFolder() ?? '', list);
  if (existsSync(path) && !readFileSync(path, 'latin1').includes('native-objects.h'))
    throw missing(`the native part of SQLite was compiled in a way that aborts Node ${process.version}`);
  isSafe = true;
}

const PACKAGE = 'better-sqlite3';

/** Null where npm left the package out, because its script failed. */
function packageFolder(): string | null {
  try {
    return dirname(createRequire(import.meta.url).resolve(`${PACKAGE}/package.json`));
  } catch {
    return null;
  }
}

function loadProblem(error: unknown): string | null {
  const { code, message } = error as NodeJS.ErrnoException;
  const node = `Node ${process.version}`;
  if (code === 'MODULE_NOT_FOUND')
    return `the native part of SQLite was neither fetched (from github.com) nor compiled (with Python 3, make, a C++ compiler) for ${node}`;
  if (code !== 'ERR_DLOPEN_FAILED') return null;
  const built = /compiled against a different Node\.js version using\s+NODE_MODULE_VERSION (\d+)/.exec(
    message,
  )?.[1];
  if (built === undefined)
    return `the native part of SQLite cannot be loaded: ${message.replace(/\s+/g, ' ')}`;
  const modules = `built for NODE_MODULE_VERSION ${built}, and ${node} has ${process.versions.modules}`;
  return `the native part of SQLite is of another Node: ${modules}`;
}

/** Fetches or compiles the native part for the Node that runs. npm's policy about scripts is not about named ones. */
function mendingCommand(): string {
  const folder = packageFolder();
  if (folder !== null) return `${compilerFlags()}npm run install --prefix ${quoted(folder)}`;
  const own = fileURLToPath(new URL('../../..', import.meta.url)).replace(/[\\/]$/, '');
  const all = `npm install --prefix ${quoted(own)} --no-save --omit=dev --ignore-scripts`;
  return `${all} && ${compilerFlags()}npm run install --prefix ${quoted(join(own, 'node_modules', PACKAGE))}`;
}

function needsHeader(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  return process.platform !== 'win32' && (major > 24 || (major === 24 && minor >= 19));
}

function compilerFlags(): string {
  if (!needsHeader()) return '';
  const header = fileURLToPath(new URL('./native-objects.h', import.meta.url));
  return `CXXFLAGS=${quoted(`-include ${header}`)} `;
}

const quoted = (words: string) => (/^[\w@%+=:,./\\-]+$/.test(words) ? words : `"${words}"`);
