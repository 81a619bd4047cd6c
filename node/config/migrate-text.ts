import { parse, stringify } from 'smol-toml';
import { CONFIG_SCHEMA_VERSION, isTable, type Table, valueAt } from './config-table.js';
import { SETTINGS, type Setting } from './settings.js';

/** The sectioned form of a flat file. */
export interface MigratedText {
  readonly text: string;
  /** Legacy fields and the keys that replace them. */
  readonly moved: readonly { readonly field: string; readonly key: string }[];
  /** Legacy fields that had no effect, because their section sets the value already. */
  readonly dropped: readonly { readonly field: string; readonly key: string }[];
  /** False when the text had to be rewritten without its comments. */
  readonly commentsKept: boolean;
}

/** A file that cannot be migrated; the message says why. */
export class NotMigratableError extends Error {}

type LegacyRow = Setting & { readonly legacy: string; readonly config: string };

/**
 * The sectioned form of a configuration text (interface §2.12 rule 4, §9.6): legacy fields move into their sections,
 * everything else stays as it is, including unknown keys and comments. Null when there is nothing to change. The
 * lines are edited in place; if that does not give exactly the wanted values, the text is rewritten.
 */
export function migrateText(text: string, values: Table): MigratedText | null {
  const version = values['schema_version'];
  if (typeof version === 'number' && version > CONFIG_SCHEMA_VERSION) {
    throw new NotMigratableError(`schema_version ${version} is newer than this release`);
  }
  const legacy = SETTINGS.filter(
    (row): row is LegacyRow => row.legacy !== undefined && Object.hasOwn(values, row.legacy),
  );
  if (legacy.length === 0 && version === CONFIG_SCHEMA_VERSION) return null;
  const isDropped = (row: LegacyRow) =>
    valueAt(values, row.config) !== undefined ||
    (row.configAlias !== undefined && valueAt(values, row.configAlias) !== undefined);
  const report = (rows: readonly LegacyRow[]) =>
    rows.map(({ legacy: field, config: key }) => ({ field, key }));
  const kept = legacy.filter((row) => !isDropped(row));
  const backends = NATIVE_ADDRESSES.filter(
    ({ address, backend }) =>
      kept.some(({ config }) => config === address) && valueAt(values, backend) === undefined,
  ).map(({ backend }) => backend);
  const migrated = migratedValues(values, legacy, kept, backends);
  const edited = editLines(text, legacy, kept, backends);
  const commentsKept = sameValues(edited, migrated);
  return {
    text: commentsKept ? edited : stringify(migrated),
    moved: report(kept),
    dropped: report(legacy.filter(isDropped)),
    commentsKept: commentsKept || !text.includes('#'),
  };
}

/** Addresses whose flat fields named a service of the local-native shape, which a section says itself. */
const NATIVE_ADDRESSES = [
  { address: 'embeddings.base_url', backend: 'embeddings.backend' },
  { address: 'llm.base_url', backend: 'llm.backend' },
] as const;
const NATIVE = 'local-native';

function migratedValues(
  values: Table,
  legacy: readonly LegacyRow[],
  kept: readonly LegacyRow[],
  backends: readonly string[],
): Table {
  const migrated = copyOf({ schema_version: CONFIG_SCHEMA_VERSION, ...values });
  migrated['schema_version'] = CONFIG_SCHEMA_VERSION;
  for (const { legacy: field } of legacy) delete migrated[field];
  const moved = kept.map(({ legacy: field, config }) => [config, values[field]] as const);
  for (const [config, value] of [...moved, ...backends.map((backend) => [backend, NATIVE] as const)]) {
    const parts = config.split('.');
    let table = migrated;
    for (const part of parts.slice(0, -1)) {
      table[part] ??= {};
      if (!isTable(table[part])) throw new NotMigratableError(`${part} must be a section`);
      table = table[part] as Record<string, unknown>;
    }
    table[parts.at(-1)!] = value;
  }
  return migrated;
}

export function copyOf(table: Table): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(table).map(([key, value]) => [key, isTable(value) ? copyOf(value) : value]),
  );
}

function editLines(
  text: string,
  legacy: readonly LegacyRow[],
  kept: readonly LegacyRow[],
  backends: readonly string[],
): string {
  const newline = text.includes('\r\n') ? '\r\n' : '\n';
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const sections = new Map<string, string[]>();
  for (const row of legacy) {
    const at = topLevelLine(lines, row.legacy);
    if (at === -1) continue;
    const from = commentStart(lines, at);
    const taken = lines.splice(from, at - from + 1);
    if (!kept.includes(row)) continue;
    const dot = row.config.lastIndexOf('.');
    const line = taken.pop()!.replace(/^\s*["']?\w+["']?/, row.config.slice(dot + 1));
    const section = row.config.slice(0, dot);
    sections.set(section, [...(sections.get(section) ?? []), ...taken, line]);
  }
  for (const backend of backends) {
    const [section, key] = backend.split('.') as [string, string];
    sections.get(section)!.push(`${key} = "${NATIVE}"`);
  }
  for (const [section, moved] of sections) {
    const header = lines.findIndex((line) => headerOf(line) === section);
    if (header !== -1) lines.splice(header + 1, 0, ...moved);
    else append(lines, [`[${section}]`, ...moved]);
  }
  const version = topLevelLine(lines, 'schema_version');
  const line = `schema_version = ${CONFIG_SCHEMA_VERSION}`;
  if (version === -1) lines.unshift(line);
  else lines[version] = line;
  const end = lines.at(-1) === '' ? '' : newline;
  return lines.join(newline) + end;
}

/** A section of its own at the end, after an empty line. */
export function append(lines: string[], section: readonly string[]): void {
  while (lines.length > 0 && lines.at(-1)!.trim() === '') lines.pop();
  lines.push(...(lines.length === 0 ? [] : ['']), ...section);
}

export const headerOf = (line: string) => /^\s*\[\s*([\w.]+)\s*\]\s*(?:#.*)?$/.exec(line)?.[1];

function topLevelLine(lines: readonly string[], key: string): number {
  const firstTable = lines.findIndex((line) => /^\s*\[/.test(line));
  const top = firstTable === -1 ? lines : lines.slice(0, firstTable);
  return top.findIndex((line) => new RegExp(`^\\s*["']?${key}["']?\\s*=`).test(line));
}

/** Comments directly above a line belong to it, unless they begin the file. */
function commentStart(lines: readonly string[], at: number): number {
  let from = at;
  while (from > 0 && /^\s*#/.test(lines[from - 1]!)) from -= 1;
  return from === 0 ? at : from;
}

export function sameValues(text: string, migrated: Table): boolean {
  try {
    return canonical(parse(text) as Table) === canonical(migrated);
  } catch {
    return false;
  }
}

/** Values as a text that does not depend on the order of keys. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isTable(value))
    return `${typeof value}:${typeof value === 'string' ? JSON.stringify(value) : String(value)}`;
  const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`);
  return `{${members.sort().join(',')}}`;
}
