import { readFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import type { HookSpec } from '../../actors/hooks/registered-hook.js';
import { type HookEvent, isHookEvent, UNFIRED_EVENTS, usualMode } from '../../protocol/hooks/events.js';
import { parseToml } from './config-file.js';
import type { Table } from './config-table.js';
import { modeText, statOf } from './file-modes.js';

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
  /** Those that are switched on and valid. */
  readonly specs: readonly HookSpec[];
  /** What is wrong; a problem of a field names `hook[<index>].<field>`, and none quotes a value. */
  readonly problems: readonly string[];
  /** What is valid but does nothing: hooks whose event nothing fires. */
  readonly warnings: readonly string[];
}

/** Reads a file of hooks and checks every hook (reference-mcp-cli §3.3). */
export function readHooksFile(path: string): HooksFile {
  const none = (state: HooksFile['state'], ...problems: string[]) => ({
    ...{ path, state, hooks: [], specs: [], problems, warnings: [] },
  });
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
  const specs = checked.flatMap(({ spec }) => spec ?? []);
  return {
    path,
    state: 'read',
    hooks: checked.map(({ hook }) => hook),
    specs,
    problems: [...strange, ...checked.flatMap(({ problems }) => problems)],
    warnings: specs.flatMap(neverFires),
  };
}

function neverFires({ index, event }: HookSpec): string[] {
  const why = UNFIRED_EVENTS[event];
  return why === undefined
    ? []
    : [`hook[${index}] is never called, because this release does not fire ${event}: ${why}`];
}

/** Where a command lies: a path with a slash counts from the folder of the file, a name is searched in PATH. */
export const commandPath = (command: string, folder: string): string =>
  command.includes('/') && !isAbsolute(command) ? join(folder, command) : command;

/** Why a file is not used in which every user could name programs to run; empty when it may be used. */
export function writableByAll(path: string): string[] {
  const stat = statOf(path);
  if (stat === null || (stat.mode & 0o002) === 0) return [];
  return [`${path} (${modeText(stat)}) may be written by every user of this machine; chmod 600 it`];
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

const eventProblem = (value: unknown) => (isHookEvent(value) ? null : 'is not a known event');

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
): { readonly hook: HookEntry; readonly spec: HookSpec | null; readonly problems: readonly string[] } {
  const isTable = typeof row === 'object' && row !== null && !Array.isArray(row);
  const table: Table = isTable ? (row as Table) : {};
  const known = RULES.map(([field]) => field);
  const problems = RULES.flatMap(([field, required, problem]) => {
    const value = table[field];
    const why = value === undefined ? (required ? 'is missing' : null) : problem(value);
    return why === null ? [] : [`hook[${index}].${field} ${why}`];
  });
  const unknown = Object.keys(table).filter((key) => !known.includes(key));
  problems.push(...unknown.map((key) => `hook[${index}].${key} is not a field of a hook`));
  const { event, command, enabled } = table;
  return {
    spec: problems.length === 0 && enabled === true ? specOf(table, index) : null,
    hook: {
      index,
      event: eventProblem(event) === null ? String(event) : null,
      command: isText(command) ? String(command) : null,
      enabled: enabled === true,
    },
    problems,
  };
}

/** The hook of a valid entry. */
function specOf(table: Table, index: number): HookSpec {
  const event = table['event'] as HookEvent;
  return {
    index,
    event,
    command: String(table['command']),
    priority: Number(table['priority']),
    timeoutMs: Number(table['timeout_ms']),
    mode: (table['mode'] as HookSpec['mode'] | undefined) ?? usualMode(event),
    namespace: String(table['namespace']),
    failMode: (table['fail_mode'] as HookSpec['failMode'] | undefined) ?? 'open',
  };
}
