import { dirname, isAbsolute, join } from 'node:path';
import type { ConfigFile } from './config-file.js';
import type { ConfigProblem, ConfigProblemCode } from './config-problem.js';
import { isTable, type Table, valueAt } from './config-table.js';
import { absolutePath } from './paths.js';
import { Secret } from './secret.js';
import { readSecretFile } from './secret-file.js';
import type { Environment, Found } from './setting-origin.js';
import type { SettingRow } from './setting-row.js';

/**
 * The key of a section, from the variable that `api_key_env` names or the file that `api_key_file` names. Giving
 * both refuses the start. A key that cannot be read is an error; the node continues without it, and features that need
 * it degrade. Neither name is ever quoted, because operators paste keys into the wrong field.
 */
export function secretFromSection(
  row: SettingRow,
  env: Environment,
  file: ConfigFile,
  report: (problem: ConfigProblem) => void,
): Found | null {
  if (row.secretSection === undefined) return null;
  const section = valueAt(file.values, row.secretSection);
  // A value that is not a table was refused with the other keys.
  if (!isTable(section)) return null;
  const variable = textIn(section, row.secretSection, 'api_key_env', report);
  const path = textIn(section, row.secretSection, 'api_key_file', report);
  const name = (key: string) => `${row.secretSection}.${key}`;
  if (variable !== null && path !== null) {
    report(
      problem(
        'CONFIG_KEY_SOURCES',
        'fatal',
        `[${row.secretSection}] has both api_key_env and api_key_file; they exclude each other`,
        'keep one of the two',
      ),
    );
    return null;
  }
  if (variable !== null) {
    const value = env[variable];
    if (value === undefined || value === '') {
      report(
        problem(
          'CONFIG_KEY_ENV_UNSET',
          'error',
          `the variable that ${name('api_key_env')} names is not set; there is no key for [${row.secretSection}]`,
          'set that variable in the environment of the node',
        ),
      );
      return null;
    }
    return { value: new Secret(value), origin: { source: 'file', name: name('api_key_env') } };
  }
  return path === null ? null : fromFile(row.secretSection, resolved(path, file.path), report);
}

function fromFile(section: string, path: string, report: (problem: ConfigProblem) => void): Found | null {
  const name = `${section}.api_key_file`;
  const read = readSecretFile(path);
  if (read.ok) return { value: read.secret, origin: { source: 'file', name } };
  const [code, what, fix] = {
    missing: ['CONFIG_KEY_FILE_MISSING', 'does not exist', 'write the key into that file, then chmod 400 it'],
    'lax-mode': ['CONFIG_KEY_FILE_MODE', 'is looser than mode 0400 and is refused', 'chmod 400 that file'],
    unreadable: ['CONFIG_KEY_FILE_UNREADABLE', 'cannot be read', 'let the user of the node own that file'],
    empty: ['CONFIG_KEY_FILE_UNREADABLE', 'has no key on its first line', 'write the key on its first line'],
  }[read.problem] as [ConfigProblemCode, string, string];
  report(
    problem(code, 'error', `the file that ${name} names ${what}; there is no key for [${section}]`, fix),
  );
  return null;
}

/** A relative path starts at the folder of the configuration file, not at the working directory. */
function resolved(path: string, configPath: string): string {
  if (path.startsWith('~/')) return absolutePath(path);
  return isAbsolute(path) ? path : join(dirname(configPath), path);
}

function textIn(
  section: Table,
  sectionName: string,
  key: string,
  report: (problem: ConfigProblem) => void,
): string | null {
  const value = section[key];
  if (value === undefined || value === '') return null;
  if (typeof value === 'string' && !value.includes('\0')) return value;
  const name = `${sectionName}.${key} in the configuration file`;
  report(problem('CONFIG_VALUE_INVALID', 'fatal', `${name} must be text`, `correct ${name}`));
  return null;
}

function problem(
  code: ConfigProblemCode,
  level: ConfigProblem['level'],
  message: string,
  fix: string,
): ConfigProblem {
  return { code, level, message, fix };
}
