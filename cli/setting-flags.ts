import type { SettingFlags } from '../node/config/load-settings.js';
import type { SettingFlag } from '../node/config/setting-row.js';
import { listOf } from '../node/config/setting-value.js';
import { SETTINGS, type Setting } from '../node/config/settings.js';
import { defaultText } from '../node/config/settings-table.js';
import { fail, failed, ok, type Result } from '../protocol/base/result.js';
import type { ParsedArguments } from './arguments.js';
import type { DocumentedFlag } from './command.js';

type Flagged = Setting & { readonly flag: SettingFlag };

const FLAGGED = SETTINGS.filter((row): row is Flagged => row.flag !== undefined);

/** The settings whose flag this command takes, in the order of the documentation. */
export function settingsWithFlag(of: SettingFlag['of']): readonly Setting['key'][] {
  return FLAGGED.filter(({ flag }) => flag.of === of).map(({ key }) => key);
}

/** The flag of a setting, as help and completions show it; `doc` replaces the line in help. */
export function settingFlag(key: Setting['key'], doc?: string): DocumentedFlag {
  const row = rowOf(key);
  const value = row.oneOf?.join('|') ?? { path: 'file', integer: 'number' }[row.type as string] ?? 'text';
  const line = (doc ?? row.flag.doc).replace('{env}', row.env ?? '').replace('{default}', defaultText(row));
  return {
    name: nameOf(row),
    kind: 'value',
    value: row.flag.value ?? value,
    ...(row.oneOf === undefined ? {} : { choices: row.oneOf }),
    suggestions: row.flag.suggestions,
    ...(row.type === 'path' ? { path: 'file' as const } : {}),
    doc: line,
  };
}

/**
 * The values that the flags of these settings give. VALIDATION_FAILED for text that is not a number, or is out of
 * bounds.
 */
export function settingsOfFlags(
  parsed: ParsedArguments,
  keys: readonly Setting['key'][],
): Result<SettingFlags> {
  const settings: Record<string, unknown> = {};
  for (const key of keys) {
    const row = rowOf(key);
    const text = parsed.flags.get(nameOf(row))?.at(-1);
    if (text === undefined) continue;
    const read = readValue(row, text);
    if (!read.ok) return failed(read.error);
    settings[key] = read.value;
  }
  return ok(settings as SettingFlags);
}

/** The variables that say the same as the flags of a command; flags without a variable are left out. */
export function variablesOfFlags(parsed: ParsedArguments): Readonly<Record<string, string>> {
  const given = FLAGGED.flatMap((row) => {
    const text = parsed.flags.get(nameOf(row))?.at(-1);
    return row.env === undefined || text === undefined ? [] : [[row.env, text] as const];
  });
  return Object.fromEntries(given);
}

function rowOf(key: Setting['key']): Flagged {
  const row = FLAGGED.find((candidate) => candidate.key === key);
  if (row === undefined) throw new Error(`the setting ${key} has no flag`);
  return row;
}

const nameOf = ({ flag }: Flagged) => flag.name.replace(/^--/, '');

function readValue(row: Flagged, text: string): Result<unknown> {
  if (row.type === 'list') return ok(listOf(text));
  if (row.type === 'integer') return numberOf(row, text);
  const problem = row.check?.(text) ?? null;
  return problem === null ? ok(text) : fail('VALIDATION_FAILED', `${row.flag.name}: ${problem}`);
}

function numberOf(row: Flagged, text: string): Result<number | null> {
  const { form, name } = row.flag;
  if (form !== undefined && !form.match.test(text))
    return fail('VALIDATION_FAILED', `${name} ${form.problem}`);
  const { min = 0, max = 999_999_999 } = row;
  const fits = /^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max;
  if (form === undefined && !fits) {
    return fail('VALIDATION_FAILED', `${name} must be a number from ${min} to ${max}`, {
      fields: [nameOf(row).replaceAll('-', '_')],
    });
  }
  return ok(row.convert === undefined ? Number(text) : row.convert(Number(text)));
}
