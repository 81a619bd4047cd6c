import { realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Log } from '../../protocol/base/seams.js';
import { modeText, statOf } from './file-modes.js';
import { commandPath, readHooksFile } from './hooks-file.js';
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

/** Others may delete and replace what lies in a folder that they may write to, unless it has the sticky bit. */
const STICKY = 0o1000;

/** The file of hooks, their programs and the folders of these, where others may write them: they decide what the node runs. */
export function looseHooks(hooksPath: string): LooseMode[] {
  const loose: LooseMode[] = [];
  const look = (path: string, code: string, what: string): void => {
    const stat = statOf(path);
    if (stat === null || (stat.mode & WRITABLE) === 0 || (stat.isDirectory() && (stat.mode & STICKY) !== 0))
      return;
    const message = `${path} (${modeText(stat)}), ${what}, may be written by others`;
    loose.push({ code, severity: 'CRIT', message, fix: `chmod go-w ${path}` });
  };
  look(hooksPath, 'HOOKS_FILE_WRITABLE', 'the file of hooks');
  const folder = dirname(hooksPath);
  const programs = readHooksFile(hooksPath).specs.map(({ command }) => commandPath(command, folder));
  for (const path of new Set(programs.filter((program) => program.includes('/')))) {
    look(path, 'HOOK_PROGRAM_WRITABLE', 'the program of a hook');
    look(dirname(realPathOf(path)), 'HOOK_FOLDER_WRITABLE', 'the folder of the program of a hook');
  }
  return loose;
}

/** The file that a link names; the path itself where there is none. */
function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** One line in the log for each loose mode, at the start of a process that stays. */
export function warnOfLooseModes(configuration: Configuration, log: Log): void {
  const { home, dbPath, hooksPath } = configuration.settings;
  const own = [looseHome(home), looseDatabase(dbPath), looseConfig(configuration)];
  const loose = [...own, ...looseHooks(hooksPath)];
  for (const each of loose) {
    if (each !== null) log.warn({ code: each.code, fix: each.fix }, each.message);
  }
}
