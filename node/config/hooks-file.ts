import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseToml } from './config-file.js';
import type { Table } from './config-table.js';

/** Events that a hook may name (reference-mcp-cli §3.1). */
export const HOOK_EVENTS: readonly string[] = [
  'pre_store',
  'post_store',
  'post_recall',
  'post_search',
  'pre_delete',
  'post_delete',
  'pre_promote',
  'post_promote',
  'pre_link',
  'post_link',
  'pre_consolidate',
  'post_consolidate',
  'pre_governance_decision',
  'post_governance_decision',
  'on_index_eviction',
  'pre_recall_expand',
  'pre_reflect',
  'post_reflect',
  'pre_compaction',
  'on_compaction_rollback',
  'pre_signal_send',
  'post_signal_ack',
];

/** Events of older files that nothing ever fires. */
export const HOOK_EVENTS_REMOVED: readonly string[] = [
  'pre_recall',
  'pre_search',
  'pre_archive',
  'pre_transcript_store',
  'post_transcript_store',
];

const TIMEOUT_MS_MAX = 30_000;
const PRIORITY_MAX = 2 ** 31 - 1;
const FILE_BYTES_MAX = 1024 * 1024;

/** A hook, with the fields that could be read. */
export interface HookEntry {
  readonly index: number;
  readonly event: string | null;
  readonly command: string | null;
  readonly enabled: boolean;
}

export interface HooksFile {
  readonly path: string;
  readonly state: 'absent' | 'read' | 'unreadable' | 'invalid';
  readonly hooks: readonly HookEntry[];
  /** What is wrong; a problem of a field names `hook[<index>].<field>`, and none quotes a value. */
  readonly problems: readonly string[];
}

/** Reads `hooks.toml` next to the configuration file and checks every hook (reference-mcp-cli §3.3). */
export function readHooksFile(configPath: string): HooksFile {
  const path = join(dirname(configPath), 'hooks.toml');
  const none = (state: HooksFile['state'], ...problems: string[]) => ({ path, state, hooks: [], problems });
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? none('absent') : none('unreadable', `cannot read ${path}: ${code}`);
  }
  if (text.length > FILE_BYTES_MAX) return none('unreadable', `cannot read ${path}: larger than 1 MiB`);
  const parsed = parseToml(text, path);
  if ('code' in parsed) return none('invalid', parsed.message.replace('the configuration file ', ''));
  const { hook: rows, ...others } = parsed.values;
  const strange = Object.keys(others).map((key) => `${key}: only [[hook]] tables are known`);
  if (rows === undefined) return { ...none('read'), problems: strange };
  if (!Array.isArray(rows)) return none('invalid', `${path}: hook must be an array of [[hook]] tables`);
  const checked = rows.map((row: unknown, index) => check(row, index));
  return {
    path,
    state: 'read',
    hooks: checked.map(({ hook }) => hook),
    problems: [...strange, ...checked.flatMap(({ problems }) => problems)],
  };
}

type Rule = readonly [field: string, required: boolean, problem: (value: unknown) => string | null];

const isText = (value: unknown) => typeof value === 'string' && value.trim() !== '';
const filled = (value: unknown) => (isText(value) ? null : 'must be text and not empty');
const flag = (value: unknown) => (typeof value === 'boolean' ? null : 'must be true or false');
const whole = (least: number, most: number) => (value: unknown) =>
  Number.isInteger(Number(value)) && /^(number|bigint)$/.test(typeof value)
    ? Number(value) >= least && Number(value) <= most
      ? null
      : `must be ${least} to ${most}`
    : 'must be a whole number';
const oneOf = (choices: readonly string[]) => (value: unknown) =>
  choices.includes(value as string) ? null : `must be ${choices.join(' or ')}`;

function eventProblem(value: unknown): string | null {
  if (HOOK_EVENTS.includes(value as string)) return null;
  return HOOK_EVENTS_REMOVED.includes(value as string)
    ? 'is an event that is never fired'
    : 'is not a known event';
}

const RULES: readonly Rule[] = [
  ['event', true, eventProblem],
  ['command', true, filled],
  ['priority', true, whole(-PRIORITY_MAX - 1, PRIORITY_MAX)],
  ['timeout_ms', true, whole(0, TIMEOUT_MS_MAX)],
  ['mode', false, oneOf(['exec', 'daemon'])],
  ['enabled', true, flag],
  ['namespace', true, filled],
  ['fail_mode', false, oneOf(['open', 'closed'])],
];

function check(
  row: unknown,
  index: number,
): { readonly hook: HookEntry; readonly problems: readonly string[] } {
  const isTable = typeof row === 'object' && row !== null && !Array.isArray(row);
  const table: Table = isTable ? (row as Table) : {};
  const known = RULES.map(([field]) => field);
  const problems = RULES.flatMap(([field, required, problem]) => {
    const value = table[field];
    const why = value === undefined ? (required ? 'is missing' : null) : problem(value);
    return why === null ? [] : [`hook[${index}].${field} ${why}`];
  });
  const unknown = Object.keys(table).filter((key) => !known.includes(key));
  const { event, command, enabled } = table;
  return {
    hook: {
      index,
      event: eventProblem(event) === null ? String(event) : null,
      command: isText(command) ? String(command) : null,
      enabled: enabled === true,
    },
    problems: [...problems, ...unknown.map((key) => `hook[${index}].${key} is not a field of a hook`)],
  };
}
