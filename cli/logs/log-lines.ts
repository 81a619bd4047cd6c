import { createReadStream, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { gunzipSync } from 'node:zlib';
import type { Settings } from '../../node/config/settings.js';
import { earlierLogFiles } from '../../node/observability/log-files.js';

/** A line of a log file, as far as it can be read. */
export interface LogLine {
  /** As it stands in the file. */
  readonly text: string;
  readonly time: string | null;
  readonly level: string | null;
  readonly message: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** Which lines are wanted; a line that does not have what is asked for is left out. */
export interface LogFilter {
  readonly since: string | null;
  readonly until: string | null;
  /** The lowest level. */
  readonly level: string | null;
  readonly namespace: string | null;
  readonly actor: string | null;
  readonly action: string | null;
}

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;

const PLAIN = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (debug|info|warn|error) (.*)$/;

/** The members that name an agent or another actor, and an operation. */
const ACTORS = ['agent_id', 'agent', 'actor', 'peer', 'peer_id', 'from'] as const;
const ACTIONS = ['operation', 'action', 'kind', 'code'] as const;

/** Reads a line in either form. */
export function logLine(text: string): LogLine {
  const nothing = { text, time: null, level: null, message: text, facts: {} };
  if (text.startsWith('{')) {
    const { time, level, msg, ...facts } = objectIn(text) ?? {};
    if (typeof time !== 'string' || typeof level !== 'string') return nothing;
    return { text, time, level, message: String(msg ?? ''), facts };
  }
  const [, time = null, level = null, rest = ''] = PLAIN.exec(text) ?? [];
  if (time === null) return nothing;
  for (let at = rest.indexOf(' {'); at !== -1; at = rest.indexOf(' {', at + 1)) {
    const facts = objectIn(rest.slice(at + 1));
    if (facts !== null) return { text, time, level, message: rest.slice(0, at), facts };
  }
  return { text, time, level, message: rest, facts: {} };
}

function objectIn(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

export function isWanted({ time, level, facts }: LogLine, filter: LogFilter): boolean {
  const { since, until } = filter;
  if (since !== null && (time === null || time < since)) return false;
  if (until !== null && (time === null || time > until)) return false;
  if (filter.level !== null && rankOf(level) < rankOf(filter.level)) return false;
  if (filter.namespace !== null && facts['namespace'] !== filter.namespace) return false;
  if (filter.actor !== null && !ACTORS.some((name) => facts[name] === filter.actor)) return false;
  return filter.action === null || ACTIONS.some((name) => facts[name] === filter.action);
}

const rankOf = (level: string | null) => (LOG_LEVELS as readonly (string | null)[]).indexOf(level);

/** The files of a log, oldest first; the present one is the last. */
export function logFilesOf(settings: Settings): readonly string[] {
  if (!existsSync(settings.logDir)) return [];
  const present = join(settings.logDir, settings.logFileName);
  return [...earlierLogFiles(settings).map(({ path }) => path), ...(existsSync(present) ? [present] : [])];
}

/** The wanted lines of a file, in its order. */
export async function* linesOf(path: string, filter: LogFilter): AsyncGenerator<LogLine> {
  for await (const text of textsOf(path)) {
    if (text === '') continue;
    const line = logLine(text);
    if (isWanted(line, filter)) yield line;
  }
}

function textsOf(path: string): AsyncIterable<string> | Iterable<string> {
  if (path.endsWith('.gz')) return gunzipSync(readFileSync(path)).toString('utf8').split('\n');
  return createInterface({ input: createReadStream(path, 'utf8'), crlfDelay: Number.POSITIVE_INFINITY });
}

/** The last wanted lines of all files. */
export async function lastLines(
  settings: Settings,
  filter: LogFilter,
  count: number,
): Promise<readonly LogLine[]> {
  let found: LogLine[] = [];
  for (const path of logFilesOf(settings).toReversed()) {
    const here: LogLine[] = [];
    for await (const line of linesOf(path, filter)) {
      here.push(line);
      if (here.length > count) here.shift();
    }
    found = [...here, ...found].slice(-count);
    if (found.length === count) break;
  }
  return found;
}
