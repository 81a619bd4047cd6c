import { existsSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Settings } from '../../node/config/settings.js';
import { type EarlierLogFile, earlierLogFiles } from '../../node/observability/log-files.js';
import { PrivateFile } from '../../node/private-file.js';
import { systemClock, systemRandom, systemScheduler } from '../../node/seams.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { ParsedArguments } from '../arguments.js';
import { defineCommand } from '../define-command.js';
import { isSet } from '../global-flags.js';
import { instantFlag } from '../instant-flag.js';
import { Pause } from '../pause.js';
import { numberFlag } from '../sessions/number-flag.js';
import { onSignals } from '../signals.js';
import type { Terminal } from '../terminal.js';
import { FollowedFile } from './follow-file.js';
import { LINE_FLAGS, LOG_DIR_FLAG, lineFilter, linePrinter, logSettings } from './log-flags.js';
import {
  isWanted,
  type LogFilter,
  type LogLine,
  lastLines,
  linesOf,
  logFilesOf,
  logLine,
} from './log-lines.js';

const LINES = { usual: 50, min: 0, max: 1_000_000 } as const;
const FOLLOW_INTERVAL_MS = { usual: 1000, min: 10, max: 3_600_000 } as const;
const POLLS = { usual: 0, min: 0, max: 999_999_999 } as const;

/** Shows the last lines of the log, and follows it. */
export const logsTailCommand = defineCommand({
  name: 'logs tail',
  summary: 'Show the last lines of the log files, and follow them.',
  flags: [
    ...LINE_FLAGS,
    { name: 'lines', kind: 'value', value: 'number', doc: `Lines to begin with (default ${LINES.usual})` },
    { name: 'follow', kind: 'switch', doc: 'Print what is added, until a signal ends it' },
    {
      ...{ name: 'follow-interval-ms', kind: 'value', value: 'ms' },
      doc: `Milliseconds between two looks (default ${FOLLOW_INTERVAL_MS.usual})`,
    },
    { name: 'max-polls', kind: 'value', value: 'number', doc: 'Looks until the end; 0 for no end (default)' },
  ],
  examples: ['logs tail', 'logs tail --level warn --since 2h', 'logs tail --follow'],
  run: async (parsed, terminal) => {
    const filter = lineFilter(parsed);
    if (!filter.ok) return failed(filter.error);
    const lines = numberFlag(parsed, 'lines', LINES);
    if (!lines.ok) return failed(lines.error);
    const everyMs = numberFlag(parsed, 'follow-interval-ms', FOLLOW_INTERVAL_MS);
    if (!everyMs.ok) return failed(everyMs.error);
    const polls = numberFlag(parsed, 'max-polls', POLLS);
    if (!polls.ok) return failed(polls.error);
    const settings = logSettings(parsed);
    const missing = missingFiles(settings);
    if (missing !== null && !isSet(parsed, 'follow')) return missing;
    const print = linePrinter(parsed, terminal);
    // Opened before the last lines are read, so that none is left out in between.
    const followed = isSet(parsed, 'follow')
      ? new FollowedFile(join(settings.logDir, settings.logFileName))
      : null;
    try {
      for (const line of await lastLines(settings, filter.value, lines.value)) await print(line);
      if (followed === null) return ok(0);
      const follow = { filter: filter.value, everyMs: everyMs.value, polls: polls.value };
      return await following(followed, follow, print, terminal);
    } finally {
      followed?.close();
    }
  },
});

interface Follow {
  readonly filter: LogFilter;
  readonly everyMs: number;
  /** 0 for no end. */
  readonly polls: number;
}

async function following(
  file: FollowedFile,
  { filter, everyMs, polls }: Follow,
  print: (line: LogLine) => Promise<void>,
  terminal: Terminal,
): Promise<Result<number>> {
  const pause = new Pause(systemScheduler, everyMs);
  onSignals(systemClock, () => pause.end());
  for (let poll = 1; !pause.ended && !terminal.closed; poll += 1) {
    await pause.take();
    for (const text of file.added()) {
      const line = logLine(text);
      if (text !== '' && isWanted(line, filter)) await print(line);
    }
    if (poll === polls) break;
  }
  return ok(0);
}

/** Shows all lines of the log. */
export const logsCatCommand = defineCommand({
  name: 'logs cat',
  summary: 'Show the lines of all log files, oldest first.',
  flags: LINE_FLAGS,
  examples: ['logs cat --level error', 'logs cat --since 2026-07-01 --until 2026-07-02 --format json'],
  run: async (parsed, terminal) => {
    const filter = lineFilter(parsed);
    if (!filter.ok) return failed(filter.error);
    const settings = logSettings(parsed);
    const missing = missingFiles(settings);
    if (missing !== null) return missing;
    const print = linePrinter(parsed, terminal);
    for (const path of logFilesOf(settings)) {
      for await (const line of linesOf(path, filter.value)) {
        await print(line);
        if (terminal.closed) return ok(0);
      }
    }
    return ok(0);
  },
});

/** Compresses the files that nobody writes any more. */
export const logsArchiveCommand = defineCommand({
  name: 'logs archive',
  summary: 'Compress the earlier log files, which logs cat and logs tail still read.',
  flags: [LOG_DIR_FLAG],
  examples: ['logs archive'],
  run: async (parsed, terminal) => {
    const settings = logSettings(parsed);
    const missing = missingFiles(settings);
    if (missing !== null) return missing;
    const files = earlierLogFiles(settings).filter(({ archived }) => !archived);
    const after = files.map(compressed).reduce((sum, bytes) => sum + bytes, 0);
    const before = sumOf(files);
    const answer = { archived: files.length, bytes_before: before, bytes_after: after };
    const text = `compressed ${files.length} files: ${before} bytes became ${after}\n`;
    await print(parsed, terminal, answer, text);
    return ok(0);
  },
});

/** Puts the compressed form beside a file, with its time, and removes the file; answers its bytes. */
function compressed({ path, changedMs }: EarlierLogFile): number {
  const content = gzipSync(readFileSync(path));
  const to = `${path}.gz`;
  const file = new PrivateFile(to, systemRandom.uuid());
  try {
    file.write(content);
    file.finish();
  } catch (error) {
    file.abandon();
    throw error;
  }
  utimesSync(to, changedMs / 1000, changedMs / 1000);
  rmSync(path);
  return content.length;
}

/** Removes files that are older than an instant. */
export const logsPurgeCommand = defineCommand({
  name: 'logs purge',
  summary: 'Remove the earlier log files whose last line was written before an instant.',
  flags: [
    {
      ...{ name: 'before', kind: 'value', value: 'instant', required: true },
      doc: 'What is older is removed',
    },
    { name: 'dry-run', kind: 'switch', doc: 'Only say which files would be removed' },
    { name: 'no-warn', kind: 'switch', doc: 'Do not say that what is removed cannot be brought back' },
    LOG_DIR_FLAG,
  ],
  examples: ['logs purge --before 30d --dry-run', 'logs purge --before 2026-01-01'],
  run: async (parsed, terminal) => {
    const before = instantFlag(parsed, 'before');
    if (!before.ok) return failed(before.error);
    const settings = logSettings(parsed);
    const missing = missingFiles(settings);
    if (missing !== null) return missing;
    const files = earlierLogFiles(settings).filter(({ changedMs }) => changedMs < Date.parse(before.value!));
    const isDry = isSet(parsed, 'dry-run');
    if (!isDry) {
      for (const { path } of files) rmSync(path, { force: true });
      if (files.length > 0 && !isSet(parsed, 'no-warn')) {
        await terminal.complain('warning: the removed log files cannot be brought back\n');
      }
    }
    const names = files.map(({ path }) => basename(path));
    const answer = { purged: files.length, bytes: sumOf(files), dry_run: isDry, files: names };
    const did = isDry ? 'would remove' : 'removed';
    const text = `${did} ${files.length} files of ${answer.bytes} bytes\n${names.map((name) => `  ${name}\n`).join('')}`;
    await print(parsed, terminal, answer, text);
    return ok(0);
  },
});

const sumOf = (files: readonly EarlierLogFile[]) => files.reduce((sum, { bytes }) => sum + bytes, 0);

const print = (parsed: ParsedArguments, terminal: Terminal, answer: object, text: string): Promise<void> =>
  terminal.print(isSet(parsed, 'json') ? `${JSON.stringify(answer)}\n` : text);

/** NOT_FOUND where there is no folder of log files. */
function missingFiles({ logDir, logToFiles }: Settings): Result<number> | null {
  if (existsSync(logDir) && statSync(logDir).isDirectory()) return null;
  const todo = logToFiles
    ? 'start the node once, or name the folder with --log-dir'
    : 'set [logging] enabled to true and restart the node, or name the folder with --log-dir';
  return fail('NOT_FOUND', `there are no log files in ${logDir}: ${todo}`);
}
