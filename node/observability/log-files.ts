import { accessSync, constants, readdirSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { RotatingFileStream } from 'rotating-file-stream';
import type { Log } from '../../protocol/base/seams.js';
import { StartRefusedError } from '../../protocol/base/start-refused.js';
import { instantFromMs } from '../../protocol/base/time.js';
import { escapeUnprintable } from '../../protocol/base/unprintable.js';
import { makeFolder } from '../../storage/make-folder.js';
import type { Settings } from '../config/settings.js';
import { stderrLog } from '../log.js';
import { systemClock } from '../seams.js';

const require = createRequire(import.meta.url);

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;
const INTERVALS = { minutely: '1m', hourly: '1h', daily: '1d', never: null } as const;
const DAY_MS = 86_400_000;
const REOPEN_MS = 60_000;

/** The log of a daemon, which is closed after its last line. */
export interface NodeLog {
  readonly log: Log;
  close(): Promise<void>;
}

/** An earlier log file; `archived` once `logs archive` has compressed it. */
export interface EarlierLogFile {
  readonly path: string;
  readonly bytes: number;
  readonly changedMs: number;
  readonly archived: boolean;
}

/** On standard error, and where `[logging] enabled` says so in files. Throws where these cannot be written. */
export function openLog(settings: Settings, out: Log = stderrLog(settings.logLevel)): NodeLog {
  if (!settings.logToFiles) return { log: out, close: () => Promise.resolve() };
  const files = new LogFiles(settings, out);
  const threshold = (LEVELS as readonly string[]).indexOf(settings.logLevel);
  const both = (at: (typeof LEVELS)[number]) => (fields: Record<string, unknown>, message: string) => {
    out[at](fields, message);
    if (threshold !== -1 && LEVELS.indexOf(at) >= threshold)
      files.write(fileLine(settings, at, fields, message));
  };
  const log = { debug: both('debug'), info: both('info'), warn: both('warn'), error: both('error') };
  return { log, close: () => files.close() };
}

/** The files that came before the present one, oldest first. */
export function earlierLogFiles({ logDir, logFileName }: Settings): readonly EarlierLogFile[] {
  const names = readdirSync(logDir).filter((name) =>
    isEarlier(name.slice(logFileName.length), name, logFileName),
  );
  return names
    .map((name) => {
      const path = join(logDir, name);
      const { size, mtimeMs } = statSync(path);
      return { path, bytes: size, changedMs: mtimeMs, archived: name.endsWith('.gz') };
    })
    .sort((one, other) => one.changedMs - other.changedMs || (one.path < other.path ? -1 : 1));
}

const EARLIER = /^\.\d{8}T\d{6}Z(\.\d+)?(\.gz)?$/;

const isEarlier = (rest: string, name: string, first: string) => name.startsWith(first) && EARLIER.test(rest);

/** Ends the life of earlier files that are too many or too old. */
function dropEarlier(settings: Settings): void {
  const files = earlierLogFiles(settings);
  const beforeMs = systemClock.nowMs() - settings.logRetentionDays * DAY_MS;
  const tooMany = files.length - settings.logFilesMax;
  for (const [index, { path, changedMs }] of files.entries()) {
    if (index < tooMany || changedMs < beforeMs) rmSync(path, { force: true });
  }
}

/** A line of JSON, or one that people read, with its facts at the end as JSON. */
export function fileLine(
  { logStructured }: Pick<Settings, 'logStructured'>,
  level: string,
  fields: object,
  message: string,
): string {
  const facts = Object.entries(fields).map(([name, value]) => [
    name,
    value instanceof Error ? shownError(value) : value,
  ]);
  const time = instantFromMs(systemClock.nowMs());
  if (logStructured) {
    return `${escapeUnprintable(JSON.stringify({ time, level, msg: message, ...Object.fromEntries(facts) }))}\n`;
  }
  const end = facts.length === 0 ? '' : ` ${JSON.stringify(Object.fromEntries(facts))}`;
  return `${escapeUnprintable(`${time} ${level} ${message.replace(/\s+/g, ' ')}${end}`)}\n`;
}

const shownError = ({ name, message, stack }: Error) => ({ name, message, stack });

/**
 * The present file and its rotation. A file that cannot be written is opened again a minute later; standard error has its
 * lines meanwhile.
 */
class LogFiles {
  #stream: RotatingFileStream | null;
  #closed = false;
  #failedMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly settings: Settings,
    private readonly out: Log,
  ) {
    const { logDir } = settings;
    try {
      makeFolder(logDir);
      accessSync(logDir, constants.W_OK | constants.X_OK);
      dropEarlier(settings);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new StartRefusedError(
        'CONFIG_INVALID',
        `the folder of the log files, ${logDir}, cannot be written (${code}): correct [logging] path or SVC_LOG_DIR, or set [logging] enabled to false`,
      );
    }
    this.#stream = this.#open();
  }

  write(line: string): void {
    if (this.#closed) return;
    if (this.#stream === null) {
      if (systemClock.monotonicMs() - this.#failedMs < REOPEN_MS) return;
      this.#stream = this.#open();
    }
    this.#stream.write(line);
  }

  close(): Promise<void> {
    const stream = this.#stream;
    this.#closed = true;
    this.#stream = null;
    if (stream === null) return Promise.resolve();
    return new Promise((resolve) => {
      stream.once('error', () => resolve());
      stream.end(() => resolve());
    });
  }

  #open(): RotatingFileStream {
    const { logDir, logFileName, logFileBytesMax, logRotation } = this.settings;
    const { createStream } = require('rotating-file-stream') as typeof import('rotating-file-stream');
    const interval = INTERVALS[logRotation];
    const stream = createStream(
      (time, index = 1) => (time === null ? logFileName : this.#earlierName(index)),
      {
        ...{ path: logDir, size: `${logFileBytesMax}B`, mode: 0o600 },
        ...(interval === null
          ? {}
          : { interval, intervalBoundary: true, intervalUTC: true, initialRotation: true }),
      },
    );
    stream.on('rotated', () => this.#attempt(() => dropEarlier(this.settings)));
    stream.on('warning', (error) => this.out.warn({ err: error }, 'the log file cannot be rotated'));
    stream.on('error', (error) => {
      if (this.#stream === stream) this.#stream = null;
      this.#failedMs = systemClock.monotonicMs();
      this.out.error({ err: error }, 'the log file cannot be written; trying again in a minute');
    });
    return stream;
  }

  /** The second of the rotation, and a number where it is the second file of that second. */
  #earlierName(index: number): string {
    const stamp = instantFromMs(systemClock.nowMs()).slice(0, 19).replaceAll(/[-:]/g, '');
    return `${this.settings.logFileName}.${stamp}Z${index === 1 ? '' : `.${index}`}`;
  }

  #attempt(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.out.warn({ err: error }, 'earlier log files could not be removed');
    }
  }
}
