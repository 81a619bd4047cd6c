import { closeSync, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'smol-toml';
import { keyProblems } from './config-keys.js';
import type { ConfigProblem } from './config-problem.js';
import { SECRET_SECTIONS, type Table, valueAt } from './config-table.js';
import { modeText } from './file-modes.js';

/** The outcome of reading the configuration file. */
export type FileState = 'read' | 'absent' | 'skipped' | 'unreadable' | 'invalid' | 'rejected';

export interface ConfigFile {
  readonly path: string;
  readonly state: FileState;
  /** Empty unless the state is `read`. */
  readonly values: Table;
  readonly problems: readonly ConfigProblem[];
}

const FILE_BYTES_MAX = 1024 * 1024;

/**
 * Reads the configuration file. It must exist only if its path was given. An inline `api_key` in a section rejects the
 * whole file, and the defaults hold instead (interface §2.12 rule 2).
 */
export function readConfigFile(home: string, explicit: string | undefined, skip: boolean): ConfigFile {
  const path = explicit ?? join(home, 'config.toml');
  const none = (state: FileState, ...problems: ConfigProblem[]) => ({ path, state, values: {}, problems });
  if (skip) return none('skipped');
  let text: string;
  let stat: Stats;
  try {
    [text, stat] = readWithStatus(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && explicit === undefined) return none('absent');
    return none('unreadable', unreadable(path, String(code)));
  }
  if (text.length > FILE_BYTES_MAX) return none('unreadable', unreadable(path, 'larger than 1 MiB'));
  const parsed = parseToml(text, path);
  if ('code' in parsed) return none('invalid', parsed);
  const inline = inlineKeySections(parsed.values);
  if (inline.length > 0) return none('rejected', inlineKey(path, inline));
  const problems = [...writableByAll(path, stat), ...keyProblems(parsed.values, path)];
  return { path, state: 'read', values: parsed.values, problems };
}

/** The text and the status of the same file, also when another file takes the path meanwhile. */
function readWithStatus(path: string): [text: string, stat: Stats] {
  const file = openSync(path, 'r');
  try {
    return [readFileSync(file, 'utf8'), fstatSync(file)];
  } finally {
    closeSync(file);
  }
}

function writableByAll(path: string, stat: Stats): ConfigProblem[] {
  // A pipe or /dev/null keeps nothing that others could have written before.
  if (!stat.isFile() || (stat.mode & 0o002) === 0) return [];
  const fix = `check its content, then chmod 600 ${path}`;
  const message = `every user of this machine may write the configuration file ${path} (${modeText(stat)}), so it is not used: ${fix}`;
  return [{ code: 'CONFIG_FILE_WRITABLE', level: 'fatal', message, fix }];
}

/** The values of a TOML text, or why it has none. */
export function parseToml(text: string, path: string): { readonly values: Table } | ConfigProblem {
  try {
    return { values: parse(text) as Table };
  } catch (error) {
    // The parser's message quotes the line, which may hold a key; its position does not.
    const { line, column } = error as { line?: number; column?: number };
    return {
      code: 'CONFIG_NOT_TOML',
      level: 'fatal',
      message: `the configuration file ${path} is not valid TOML (line ${line}, column ${column})`,
      fix: 'correct that line, or start with SVC_NO_CONFIG=1 until then',
    };
  }
}

/** Sections that hold a literal key. */
export function inlineKeySections(values: Table): string[] {
  return SECRET_SECTIONS.filter((section) => valueAt(values, `${section}.api_key`) !== undefined);
}

function unreadable(path: string, why: string): ConfigProblem {
  return {
    code: 'CONFIG_FILE_UNREADABLE',
    level: 'fatal',
    message: `cannot read the configuration file ${path}: ${why}`,
    fix: 'correct --config or SVC_CONFIG, or the permissions of the file',
  };
}

function inlineKey(path: string, sections: readonly string[]): ConfigProblem {
  const named = sections.map((section) => `[${section}]`).join(', ');
  return {
    code: 'CONFIG_INLINE_API_KEY',
    level: 'error',
    message: `${path} holds a literal api_key in ${named}; the whole file is ignored and the default configuration holds`,
    fix: 'name a variable with api_key_env, or put the key into a file of mode 0400 and name it with api_key_file',
  };
}
