import type { ConfigFile } from './config-file.js';
import type { ConfigProblem } from './config-problem.js';
import { isTable, type Table, valueAt } from './config-table.js';
import { Secret } from './secret.js';
import { secretFromSection } from './section-secret.js';
import type { Environment, Found, Origin } from './setting-origin.js';
import type { SettingRow } from './setting-row.js';
import type { Setting } from './settings.js';

/** What is wrong with a value, as the text after its name; it never holds the value. */
class Unfit {
  constructor(readonly why: string) {}
}

/**
 * The value of a setting: flag over environment over section over legacy field (interface §2.12 rule 3); null when
 * none is given. A value that does not fit is reported, and the next source is used.
 */
export function findValue(
  row: Setting,
  flag: unknown,
  env: Environment,
  file: ConfigFile,
  report: (problem: ConfigProblem) => void,
): Found | null {
  const refuse = (name: string, unfit: Unfit) => report(invalid(name, unfit.why));
  const take = (value: unknown, origin: Origin, label: string): Found | null => {
    if (value === undefined) return null;
    if (!(value instanceof Unfit)) return { value, origin };
    refuse(label, value);
    return null;
  };
  const flagName = row.flag?.name ?? row.key;
  const name = row.env ?? '';
  const text = row.env === undefined ? undefined : given(env[row.env]);
  const keys = [row.config, row.configAlias].filter((key) => key !== undefined);
  const flagged = take(fromFlag(row, given(flag)), { source: 'flag', name: flagName }, flagName);
  if (flagged !== null) return flagged;
  const variable = take(
    text === undefined ? undefined : fromText(row, text),
    { source: 'environment', name },
    name,
  );
  if (variable !== null) {
    return row.joined === true ? joined(variable, fromKeys(row, keys, 'file', file, take)) : variable;
  }
  return (
    fromKeys(row, keys, 'file', file, take) ??
    secretFromSection(row, env, file, report) ??
    fromKeys(row, row.legacy === undefined ? [] : [row.legacy], 'legacy', file, take)
  );
}

/** The entries of both lists, each once; the origin is that of the first. */
function joined(first: Found, second: Found | null): Found {
  if (second === null) return first;
  const entries = [...(first.value as readonly string[]), ...(second.value as readonly string[])];
  return { ...first, value: [...new Set(entries)] };
}

function fromKeys(
  row: SettingRow,
  keys: readonly string[],
  source: 'file' | 'legacy',
  file: ConfigFile,
  take: (value: unknown, origin: Origin, label: string) => Found | null,
): Found | null {
  for (const key of keys) {
    const found = take(
      fromToml(row, given(valueAt(file.values, key))),
      { source, name: key },
      `${key} in the configuration file`,
    );
    if (found !== null) return found;
  }
  return null;
}

/** Empty text configures nothing; above all, an empty API key is no key. */
export function given<T>(value: T): T | undefined {
  return value === '' ? undefined : value;
}

/** A flag holds the value in the unit of the program, so it is checked but not converted. */
function fromFlag(row: SettingRow, value: unknown): unknown {
  // Null is a value too: it switches off a setting that the environment sets.
  if (value === undefined || value === null) return value;
  if (row.type === 'secret') return typeof value === 'string' ? new Secret(value) : value;
  return row.convert === undefined ? checked(row, value) : value;
}

function fromText(row: SettingRow, text: string): unknown {
  switch (row.type) {
    case 'integer':
      return /^-?\d{1,15}$/.test(text) ? converted(row, Number(text)) : new Unfit('must be an integer');
    case 'number':
      return /^\d{1,15}(?:\.\d{1,15})?$/.test(text)
        ? converted(row, Number(text))
        : new Unfit('must be a number');
    case 'boolean': {
      const word = text.trim().toLowerCase();
      if (['1', 'true', 'yes', 'on'].includes(word)) return true;
      if (['0', 'false', 'no', 'off'].includes(word)) return false;
      return new Unfit('must be 1 or 0');
    }
    case 'list':
      return checked(row, listOf(text));
    case 'secret':
      return secret(row, text);
    case 'tables':
      return new Unfit('must be tables of the configuration file');
    default:
      return checked(row, text);
  }
}

/** The items of a text that is separated by commas. */
export function listOf(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function fromToml(row: SettingRow, value: unknown): unknown {
  if (value === undefined) return undefined;
  const fits = {
    text: typeof value === 'string',
    path: typeof value === 'string',
    secret: typeof value === 'string',
    integer: Number.isSafeInteger(value),
    number: Number.isFinite(value),
    boolean: typeof value === 'boolean',
    list: Array.isArray(value) && value.every((item) => typeof item === 'string'),
    tables: tablesOf(row, value) !== null,
  }[row.type];
  if (!fits) return new Unfit(`must be ${typeWords(row)}`);
  if (row.type === 'secret') return secret(row, value as string);
  if (row.type === 'tables') return parsed(row.parse, tablesOf(row, value)!);
  const isNumber = row.type === 'integer' || row.type === 'number';
  return isNumber ? converted(row, value as number) : checked(row, value);
}

/** The tables of a row, those of sections with their names; null for another value. */
function tablesOf(row: SettingRow, value: unknown): readonly Table[] | null {
  const { named, lists } = row.type === 'tables' ? row : {};
  if (named === undefined) return Array.isArray(value) && value.every(isTable) ? value : null;
  if (!isTable(value)) return null;
  const sections = Object.entries(value);
  if (lists !== undefined) return sections.map(([name, values]) => ({ [named]: name, [lists]: values }));
  return sections.every(([, section]) => isTable(section))
    ? sections.map(([name, section]) => ({ ...(section as Table), [named]: name }))
    : null;
}

const TYPE_WORDS = {
  text: 'text',
  path: 'text',
  secret: 'text',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  list: 'a list of texts',
  tables: 'a list of tables',
};

const typeWords = (row: SettingRow): string =>
  row.type === 'tables' && row.named !== undefined ? 'a section' : TYPE_WORDS[row.type];

function secret(row: SettingRow, text: string): Secret | Unfit {
  const problem = row.check?.(text) ?? null;
  return problem === null ? new Secret(text) : new Unfit(problem);
}

function converted(row: SettingRow, value: number): unknown {
  const fit = checked(row, value);
  return fit instanceof Unfit || row.convert === undefined ? fit : row.convert(value);
}

function parsed(parse: (table: Table) => object | string, tables: readonly Table[]): object[] | Unfit {
  const values: object[] = [];
  for (const [index, table] of tables.entries()) {
    const value = parse(table);
    if (typeof value === 'string') return new Unfit(`table ${index + 1} ${value}`);
    values.push(value);
  }
  return values;
}

/** The value, if the row's bounds, list and check allow it. */
function checked(row: SettingRow, value: unknown): unknown {
  if (row.oneOf !== undefined && !row.oneOf.includes(String(value))) {
    return new Unfit(`must be one of ${row.oneOf.join(', ')}`);
  }
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = row;
  // Written so that NaN does not pass.
  if (typeof value === 'number' && !(value >= min && value <= max)) {
    if (min === Number.NEGATIVE_INFINITY) return new Unfit(`must be at most ${max}`);
    if (max === Number.POSITIVE_INFINITY) return new Unfit(`must be ${min} or more`);
    return new Unfit(`must be between ${min} and ${max}`);
  }
  const problem = row.check?.(String(value)) ?? null;
  return problem === null ? value : new Unfit(problem);
}

function invalid(name: string, why: string): ConfigProblem {
  return {
    code: 'CONFIG_VALUE_INVALID',
    level: 'fatal',
    message: why.startsWith('must') ? `${name} ${why}` : `${name}: ${why}`,
    fix: `correct ${name}, or remove it for the default`,
  };
}
