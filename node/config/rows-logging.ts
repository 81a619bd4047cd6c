import { join } from 'node:path';
import type { SettingRows } from './setting-row.js';

const BYTES_PER_MB = 1024 * 1024;
const NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$/;

const nameProblem = (name: string): string | null =>
  NAME.test(name)
    ? null
    : 'must have 1 to 64 letters, digits, dots, dashes and underscores, and begin with no dot';

/** What a daemon writes about its work, and where. */
export const LOGGING_ROWS = {
  logLevel: {
    type: 'text',
    default: 'info',
    oneOf: ['debug', 'info', 'warn', 'error', 'silent'],
    env: 'SVC_LOG_LEVEL',
    config: 'logging.level',
    doc: 'debug, info, warn, error or silent; for standard error and for the files.',
  },
  logToFiles: {
    type: 'boolean',
    default: false,
    config: 'logging.enabled',
    doc: 'Write the log of `serve` into files too, besides standard error.',
  },
  logDir: {
    type: 'path',
    default: (home: string) => join(home, 'logs'),
    defaultDoc: 'logs in the home',
    env: 'SVC_LOG_DIR',
    config: 'logging.path',
    doc: 'Folder of the log files (0700).',
  },
  logFileName: {
    type: 'text',
    default: 'mnemesh.log',
    config: 'logging.filename_prefix',
    check: nameProblem,
    doc: 'Name of the present log file, with which the names of earlier ones begin.',
  },
  logRotation: {
    type: 'text',
    default: 'daily',
    oneOf: ['minutely', 'hourly', 'daily', 'never'],
    config: 'logging.rotation',
    doc: 'When a new log file begins, in UTC, also before it is full.',
  },
  logFileBytesMax: {
    type: 'integer',
    default: 100,
    min: 1,
    max: 500,
    unit: 'MB',
    convert: (megabytes: number) => megabytes * BYTES_PER_MB,
    config: 'logging.max_size_mb',
    doc: 'Size at which a new log file begins.',
  },
  logFilesMax: {
    type: 'integer',
    default: 30,
    min: 1,
    max: 10_000,
    config: 'logging.max_files',
    doc: 'Earlier log files that are kept.',
  },
  logRetentionDays: {
    type: 'integer',
    default: 90,
    min: 1,
    max: 36_500,
    unit: 'days',
    config: 'logging.retention_days',
    doc: 'How long earlier log files are kept.',
  },
  logStructured: {
    type: 'boolean',
    default: false,
    config: 'logging.structured',
    doc: 'Write log files as lines of JSON.',
  },
} as const satisfies SettingRows;
