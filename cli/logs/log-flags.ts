import { inspectConfiguration } from '../../node/config/load-settings.js';
import { absolutePath } from '../../node/config/paths.js';
import type { Settings } from '../../node/config/settings.js';
import { failed, ok, type Result } from '../../protocol/base/result.js';
import type { ParsedArguments } from '../arguments.js';
import type { DocumentedFlag } from '../command.js';
import { flagValue, settingSources } from '../global-flags.js';
import { instantFlag } from '../instant-flag.js';
import type { Terminal } from '../terminal.js';
import { LOG_LEVELS, type LogFilter, type LogLine } from './log-lines.js';

export const LOG_DIR_FLAG: DocumentedFlag = {
  name: 'log-dir',
  kind: 'value',
  value: 'folder',
  path: 'folder',
  doc: 'Folder of the log files, instead of the configured one (SVC_LOG_DIR)',
};

/** The flags that choose lines, and how they are printed. */
export const LINE_FLAGS: readonly DocumentedFlag[] = [
  { name: 'since', kind: 'value', value: 'instant', doc: 'Only lines from this instant on' },
  { name: 'until', kind: 'value', value: 'instant', doc: 'Only lines up to this instant' },
  {
    name: 'level',
    kind: 'value',
    value: 'level',
    choices: LOG_LEVELS,
    doc: 'Only lines of this level and above',
  },
  { name: 'namespace', kind: 'value', value: 'namespace', doc: 'Only lines about this namespace' },
  { name: 'actor', kind: 'value', value: 'id', doc: 'Only lines about this agent or peer' },
  {
    ...{ name: 'action-filter', kind: 'value', value: 'word' },
    doc: 'Only lines about this operation, or with this code',
  },
  {
    ...{ name: 'format', kind: 'value', value: 'form', choices: ['text', 'json'] },
    doc: 'Print lines as they stand (text, by default), or each as a JSON document',
  },
  LOG_DIR_FLAG,
];

/** Where the log lies. A configuration that a node would refuse must not hide why it did. */
export function logSettings(parsed: ParsedArguments): Settings {
  const { settings } = inspectConfiguration(...settingSources(parsed));
  const folder = flagValue(parsed, 'log-dir');
  return folder === undefined ? settings : { ...settings, logDir: absolutePath(folder) };
}

export function lineFilter(parsed: ParsedArguments): Result<LogFilter> {
  const since = instantFlag(parsed, 'since');
  if (!since.ok) return failed(since.error);
  const until = instantFlag(parsed, 'until', 'end');
  if (!until.ok) return failed(until.error);
  return ok({
    ...{ since: since.value, until: until.value },
    level: flagValue(parsed, 'level') ?? null,
    namespace: flagValue(parsed, 'namespace') ?? null,
    actor: flagValue(parsed, 'actor') ?? null,
    action: flagValue(parsed, 'action-filter') ?? null,
  });
}

/** Prints one line in the wanted form. */
export function linePrinter(parsed: ParsedArguments, terminal: Terminal): (line: LogLine) => Promise<void> {
  const isJson = flagValue(parsed, 'json') === 'true' || flagValue(parsed, 'format') === 'json';
  return ({ text, time, level, message, facts }) =>
    terminal.print(isJson ? `${JSON.stringify({ time, level, message, ...facts })}\n` : `${text}\n`);
}
