import { nearest } from '../../protocol/base/nearest.js';
import type { ConfigProblem } from './config-problem.js';
import { CONFIG_SCHEMA_VERSION, isTable, SECRET_SECTIONS, type Table } from './config-table.js';
import { SETTINGS } from './settings.js';

/** Keys of the reference that this release does not read; they are not typing errors (reference-mcp-cli §4). */
const NOT_READ = ['tier', 'governance', 'hooks', 'permissions', 'transcripts', 'verify'];
const TOP = ['schema_version'];
const UNKNOWN_SHOWN_MAX = 20;

/** Every key that a file may hold, dotted. */
export const KNOWN_KEYS: ReadonlySet<string> = new Set([
  ...TOP,
  ...SETTINGS.flatMap((row) => [row.config, row.configAlias, row.legacy].filter((key) => key !== undefined)),
  ...SECRET_SECTIONS.flatMap((section) => [`${section}.api_key_env`, `${section}.api_key_file`]),
]);
const KNOWN_TABLES = new Set(
  [...KNOWN_KEYS, ...NOT_READ].flatMap((key) => {
    const parts = key.split('.');
    return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('.'));
  }),
);

/** What is wrong with the keys of a file: unknown keys, legacy fields, a newer schema version. */
export function keyProblems(values: Table, path: string): ConfigProblem[] {
  const problems = [...versionProblems(values, path)];
  const unknown: ConfigProblem[] = [];
  const noSection = (key: string) => problems.push(notTable(key, path));
  walk(values, '', noSection, (key, isSection) => {
    unknown.push(
      NOT_READ.includes(key) || NOT_READ.some((prefix) => key.startsWith(`${prefix}.`))
        ? notRead(key, path)
        : unknownKey(key, isSection, path),
    );
  });
  problems.push(...unknown.slice(0, UNKNOWN_SHOWN_MAX));
  if (unknown.length > UNKNOWN_SHOWN_MAX) {
    const more = unknown.length - UNKNOWN_SHOWN_MAX;
    problems.push({ ...unknown[0]!, message: `${path}: ${more} more keys are not known` });
  }
  const legacy = legacyFields(values);
  if (legacy.length > 0) {
    problems.push({
      code: 'CONFIG_LEGACY_FIELDS',
      level: 'warning',
      message: `${path} holds legacy fields, which will be removed: ${legacy.join(', ')}`,
      fix: 'run "mnemesh config migrate"',
    });
  }
  return problems;
}

/** The legacy flat fields that a file holds, in the order of the settings. */
export function legacyFields(values: Table): string[] {
  return SETTINGS.flatMap((row) =>
    row.legacy !== undefined && Object.hasOwn(values, row.legacy) ? [row.legacy] : [],
  );
}

function walk(
  table: Table,
  prefix: string,
  noSection: (key: string) => void,
  unknown: (key: string, isSection: boolean) => void,
): void {
  for (const [name, value] of Object.entries(table)) {
    const key = prefix + name;
    // The reader of the setting refuses a known name with the wrong type.
    if (KNOWN_KEYS.has(key)) continue;
    if (!KNOWN_TABLES.has(key)) unknown(key, isTable(value));
    else if (isTable(value)) walk(value, `${key}.`, noSection, unknown);
    else noSection(key);
  }
}

function notTable(key: string, path: string): ConfigProblem {
  return {
    code: 'CONFIG_VALUE_INVALID',
    level: 'fatal',
    message: `${path}: ${key} must be a section`,
    fix: `write it as [${key}]`,
  };
}

function unknownKey(key: string, isSection: boolean, path: string): ConfigProblem {
  const near = isSection
    ? nearest(key, [...KNOWN_TABLES])
    : (nearestSibling(key) ?? nearest(key, [...KNOWN_KEYS]));
  const hint = near === null ? '' : `; did you mean ${isSection ? `[${near}]` : near}?`;
  return {
    code: 'CONFIG_UNKNOWN_KEY',
    level: 'warning',
    message: `${path}: ${isSection ? `section [${key}]` : key} is not known and has no effect${hint}`,
    fix: near === null ? 'remove it, or look it up in docs/configuration.md' : `write ${near} instead`,
  };
}

/** A misspelt key most likely belongs to the section it is in; a correct key may be in the wrong section. */
function nearestSibling(key: string): string | null {
  const section = key.includes('.') ? key.slice(0, key.lastIndexOf('.') + 1) : '';
  const leaf = key.slice(section.length);
  const leafOf = (known: string) => known.slice(known.lastIndexOf('.') + 1);
  const siblings = [...KNOWN_KEYS].filter(
    (known) => known.startsWith(section) && leafOf(known) === known.slice(section.length),
  );
  const near = nearest(leaf, siblings.map(leafOf));
  if (near !== null) return siblings.find((known) => leafOf(known) === near) ?? null;
  return [...KNOWN_KEYS].find((known) => leafOf(known) === leaf) ?? null;
}

function notRead(key: string, path: string): ConfigProblem {
  return {
    code: 'CONFIG_KEY_NOT_READ',
    level: 'warning',
    message: `${path}: ${key} is not read by this release`,
    fix: 'leave it for a later release, or remove it',
  };
}

function versionProblems(values: Table, path: string): ConfigProblem[] {
  const version = values['schema_version'];
  if (version === undefined || version === 1 || version === CONFIG_SCHEMA_VERSION) return [];
  const newer = typeof version === 'number' && version > CONFIG_SCHEMA_VERSION;
  return [
    {
      code: 'CONFIG_SCHEMA_VERSION',
      level: 'warning',
      message: newer
        ? `${path} has schema_version ${version}, this release knows ${CONFIG_SCHEMA_VERSION}: it may misread the file`
        : `${path}: schema_version must be 1 or ${CONFIG_SCHEMA_VERSION}`,
      fix: newer ? 'install a newer release' : `set schema_version = ${CONFIG_SCHEMA_VERSION}`,
    },
  ];
}
