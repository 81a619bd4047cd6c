import { ERRORS } from '../protocol/base/errors.js';
import type { Failure } from '../protocol/base/result.js';
import { StartRefusedError } from '../protocol/base/start-refused.js';
import { printable } from './views/text.js';

/** Error codes of a path or an address that cannot be used. */
const PATH_ERRORS = new Set([
  'ENOENT',
  'EACCES',
  'EPERM',
  'EISDIR',
  'ENOTDIR',
  'EEXIST',
  'ENOTEMPTY',
  'ENAMETOOLONG',
  'ELOOP',
  'EADDRNOTAVAIL',
]);

/** The failure that an exception means; an unexpected exception is INTERNAL. */
export function failureOf(error: unknown): Failure {
  if (error instanceof StartRefusedError) return { code: error.refusal, message: error.message };
  const { message, code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') {
    return {
      code: 'UNAVAILABLE',
      message: `${message}: stop the program that listens there, or choose another --port`,
    };
  }
  if (PATH_ERRORS.has(code ?? '')) return { code: 'CONFIG_INVALID', message };
  if (code === 'EROFS') {
    return {
      code: 'STORAGE_READ_ONLY',
      message: `${message}: mount the disk for writing, or choose a place on another disk`,
    };
  }
  if (code === 'EIO' || code === 'ENOSPC' || code === 'SQLITE_FULL') return { code: 'STORAGE_FULL', message };
  if (code === 'SQLITE_CORRUPT' || code === 'SQLITE_NOTADB') {
    const help =
      code === 'SQLITE_CORRUPT'
        ? 'stop all its processes and run "mnemesh repair", or restore a backup; "doctor" says more'
        : 'keep a copy of the file and restore a backup; "doctor" says more';
    return { code: 'DATABASE_ERROR', message: `the database is damaged (${code}: ${message}): ${help}` };
  }
  if (code?.startsWith('SQLITE_') === true) return { code: 'DATABASE_ERROR', message: `${code}: ${message}` };
  return { code: 'INTERNAL', message };
}

/** The exit code of a failure. */
export function exitCodeOf(failure: Failure): number {
  return ERRORS[failure.code].exit;
}

/** A failure as it is written to standard error: one JSON document, or sentences for people. */
export function failureText(failure: Failure, json: boolean, usage: string): string {
  if (json) {
    return `${JSON.stringify({ error: failure.message, code: failure.code, ...failure.details })}\n`;
  }
  const lines = [`error: ${printable(failure.message)}`];
  for (const [key, value] of Object.entries(failure.details ?? {})) {
    // The message already names the fields.
    if (key !== 'fields') lines.push(`  ${key}: ${printable(textOf(value))}`);
  }
  if (exitCodeOf(failure) === 2) lines.push('', usage);
  return `${lines.join('\n')}\n`;
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
