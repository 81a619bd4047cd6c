import type { Log } from '../../protocol/seams.js';
import { modeText, statOf } from './file-modes.js';
import type { Configuration } from './load-settings.js';

/** A file or folder of the node whose mode gives more to others than it should. */
export interface LooseMode {
  readonly code: string;
  readonly severity: 'WARN' | 'CRIT';
  readonly message: string;
  readonly fix: string;
}

const WRITABLE = 0o022;

export function looseHome(home: string): LooseMode | null {
  const stat = statOf(home);
  if (stat === null || !stat.isDirectory()) return null;
  const fix = `chmod 700 ${home}`;
  const named = `${home} (${modeText(stat)})`;
  if ((stat.mode & WRITABLE) !== 0) {
    const message = `${named} may be written by others, who can replace its files`;
    return { code: 'HOME_WRITABLE', severity: 'CRIT', message, fix };
  }
  if ((stat.mode & 0o077) === 0) return null;
  return { code: 'HOME_READABLE', severity: 'WARN', message: `${named} is open to others`, fix };
}

export function looseDatabase(dbPath: string): LooseMode | null {
  const stat = statOf(dbPath);
  if (stat === null) return null;
  const fix = `chmod 600 ${dbPath}`;
  const named = `${dbPath} (${modeText(stat)})`;
  if ((stat.mode & WRITABLE) !== 0) {
    return { code: 'DB_FILE_WRITABLE', severity: 'CRIT', message: `${named} may be written by others`, fix };
  }
  if ((stat.mode & 0o044) === 0) return null;
  return { code: 'DB_FILE_READABLE', severity: 'WARN', message: `${named} may be read by others`, fix };
}

/** A file that may be read by others is loose when it holds the API key. */
export function looseConfig({ file: { path }, origins }: Configuration): LooseMode | null {
  const stat = statOf(path);
  if (stat === null || !stat.isFile()) return null;
  const fix = `chmod 600 ${path}`;
  const named = `${path} (${modeText(stat)})`;
  if ((stat.mode & WRITABLE) !== 0) {
    return {
      code: 'CONFIG_FILE_WRITABLE',
      severity: 'CRIT',
      message: `${named} may be written by others`,
      fix,
    };
  }
  if ((stat.mode & 0o077) === 0 || origins.get('apiKey')?.source !== 'file') return null;
  const message = `${named} holds the API key and may be read by others`;
  return { code: 'CONFIG_FILE_READABLE', severity: 'WARN', message, fix };
}

/** One line in the log for each loose mode, at the start of a process that stays. */
export function warnOfLooseModes(configuration: Configuration, log: Log): void {
  const { home, dbPath } = configuration.settings;
  const loose = [looseHome(home), looseDatabase(dbPath), looseConfig(configuration)];
  for (const each of loose) {
    if (each !== null) log.warn({ code: each.code, fix: each.fix }, each.message);
  }
}
