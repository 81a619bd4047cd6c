import { stringify } from 'smol-toml';
import { CONFIG_SCHEMA_VERSION, isTable, type Table } from './config-table.js';
import { append, copyOf, headerOf, sameValues } from './migrate-text.js';

/**
 * A configuration text in which keys of one section have other values; null removes a key. Everything else stays as it
 * is; an empty text gets its schema version. The lines are edited in place. Where that does not give exactly the wanted
 * values, the text is written without its comments.
 */
export function editSection(
  text: string,
  values: Table,
  section: string,
  changes: Readonly<Record<string, string | null>>,
): { readonly text: string; readonly commentsKept: boolean } {
  const isEmpty = Object.keys(values).length === 0;
  const version = isEmpty ? { schema_version: CONFIG_SCHEMA_VERSION } : {};
  const wanted: Record<string, unknown> = { ...version, ...copyOf(values) };
  const held = wanted[section];
  const table: Record<string, unknown> = isTable(held) ? { ...held } : {};
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) delete table[key];
    else table[key] = value;
  }
  wanted[section] = table;
  const edited = editLines(text, section, changes, isEmpty);
  const commentsKept = sameValues(edited, wanted);
  return {
    text: commentsKept ? edited : stringify(wanted),
    commentsKept: commentsKept || !text.includes('#'),
  };
}

function editLines(
  text: string,
  section: string,
  changes: Readonly<Record<string, string | null>>,
  lacksVersion: boolean,
): string {
  const newline = text.includes('\r\n') ? '\r\n' : '\n';
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const header = lines.findIndex((line) => headerOf(line) === section);
  const added: string[] = [];
  for (const [key, value] of Object.entries(changes)) {
    const line = value === null ? null : `${key} = ${JSON.stringify(value)}`;
    const at = header === -1 ? -1 : keyLine(lines, header, key);
    if (at !== -1) lines.splice(at, 1, ...(line === null ? [] : [line]));
    else if (line !== null) added.push(line);
  }
  if (header !== -1) lines.splice(header + 1, 0, ...added);
  else append(lines, [`[${section}]`, ...added]);
  if (lacksVersion) lines.unshift(`schema_version = ${CONFIG_SCHEMA_VERSION}`, '');
  while (lines.at(-1) === '') lines.pop();
  return lines.join(newline) + newline;
}

/** The line of a key in the section that a header begins; -1 when there is none. */
function keyLine(lines: readonly string[], header: number, key: string): number {
  for (let at = header + 1; at < lines.length && !/^\s*\[/.test(lines[at]!); at += 1) {
    if (new RegExp(`^\\s*["']?${key}["']?\\s*=`).test(lines[at]!)) return at;
  }
  return -1;
}
