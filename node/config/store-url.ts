import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { systemCrypto } from '../seams.js';
import type { ConfigProblem } from './config-problem.js';
import type { Secret } from './secret.js';
import { readSecretFile, type SecretFileProblem } from './secret-file.js';
import type { Origin } from './setting-origin.js';
import type { Settings } from './settings.js';

const FILE_VARIABLE = 'SVC_STORE_URL_FILE';

/** What is wrong with the file of an address, and what to do. */
const FILE_PROBLEMS: Readonly<Record<SecretFileProblem, readonly [what: string, fix: string]>> = {
  missing: ['does not exist', 'write the address into that file, then chmod 600 it'],
  'lax-mode': ['is looser than mode 0600 and is refused', 'chmod 600 that file'],
  unreadable: ['cannot be read', 'let the user of the node own that file'],
  empty: ['has no address on its first line', 'write the address on its first line'],
};

/**
 * The address of the database server: the flag, the file that a variable names, the variable, the configuration file. A file that
 * cannot be used is fatal: the node would begin with an empty database of its own.
 */
export function takeStoreUrl(
  settings: Record<string, unknown>,
  origins: Map<keyof Settings, Origin>,
  problems: ConfigProblem[],
): void {
  const path = settings['storeUrlFile'] as string | null;
  if (path !== null && origins.get('storeUrl')?.source !== 'flag') {
    const read = readSecretFile(path, 0o600);
    if (read.ok) {
      settings['storeUrl'] = read.secret;
      origins.set('storeUrl', { source: 'environment', name: FILE_VARIABLE });
    } else {
      const [what, fix] = FILE_PROBLEMS[read.problem];
      problems.push({
        ...{ code: 'CONFIG_STORE_URL_FILE', level: 'fatal', fix },
        message: `${FILE_VARIABLE}: the file ${path} ${what}`,
      });
    }
  }
  const url = settings['storeUrl'] as Secret | null;
  const why = url === null ? null : storeUrlProblem(url.reveal());
  if (why !== null) {
    const fix = 'write it as postgres://user:password@host:5432/name';
    const message = `the address of the database server ${why}`;
    problems.push({ code: 'CONFIG_STORE_URL', level: 'fatal', message, fix });
    settings['storeUrl'] = null;
    return;
  }
  // The file of a configuration is the default of its user; an address takes its place.
  const { source, name } = origins.get('dbPath')!;
  if (url === null || (source !== 'flag' && source !== 'environment')) return;
  problems.push({
    ...{ code: 'CONFIG_TWO_DATABASES', level: 'fatal', fix: 'remove one of them' },
    message: `${name ?? '--db'} names a file, and ${origins.get('storeUrl')?.name ?? '--store-url'} a database server: a node has one database`,
  });
}

/** The address is not quoted, because it may hold a password. */
export function storeUrlProblem(value: string): string | null {
  if (!/^postgres(ql)?:\/\//.test(value)) return 'must begin with postgres://';
  if (!URL.canParse(value)) return 'must have the form postgres://user@host:5432/name';
  return new URL(value).pathname.length > 1 ? null : 'must name a database after the host';
}

/** True where the database is a file that nobody has made yet. */
export const isAbsent = ({ dbPath, storeUrl }: Pick<Settings, 'dbPath' | 'storeUrl'>): boolean =>
  storeUrl === null && dbPath !== ':memory:' && !existsSync(dbPath);

/** True for an address that must not be shown, or given on a command line. */
export const hasPassword = (url: Secret): boolean =>
  new URL(url.reveal()).password !== '' || /[?&]password=/.test(url.reveal());

/** How a database is called where people read it, and by what processes know that they have the same one: no password. */
export function databaseName({ dbPath, storeUrl }: Pick<Settings, 'dbPath' | 'storeUrl'>): string {
  return storeUrl === null ? dbPath : shownStoreUrl(storeUrl);
}

/** The beginning of the names of the files that a home keeps about its database: imports, the ends of the audit chain. */
export function besideDatabase(settings: Pick<Settings, 'dbPath' | 'storeUrl' | 'home'>): string {
  const { dbPath, storeUrl, home } = settings;
  if (storeUrl === null) return dbPath;
  return join(home, `postgres-${systemCrypto.sha256Hex(shownStoreUrl(storeUrl)).slice(0, 8)}`);
}

/** An address of a server without its password and its parameters. */
export function shownStoreUrl(url: Secret): string {
  const { protocol, username, host, pathname } = new URL(url.reveal());
  return `${protocol}//${username === '' ? '' : `${username}@`}${host}${pathname}`;
}
