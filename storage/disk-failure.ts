import { accessSync, constants, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { ErrorCode } from '../protocol/base/errors.js';
import { type Failure, failed, type Result } from '../protocol/base/result.js';

/** Why a disk takes no writes. */
type DiskTrouble = 'full' | 'read-only';

/** The index of a write-ahead log, SQLite's smallest new file, has 32 KiB. */
const NEEDED_BYTES = 64 * 1024;

/** Why the disk of a file, which need not exist, takes no writes; null when it takes them, or that is not known. */
export function diskTrouble(path: string): DiskTrouble | null {
  const folder = dirname(path);
  try {
    accessSync(folder, constants.W_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EROFS') return 'read-only';
    if (code === 'ENOENT' && dirname(folder) !== folder) return diskTrouble(folder);
  }
  try {
    const { bavail, bsize, files, ffree } = statfsSync(folder);
    // File systems that count no files answer 0 for both.
    return bavail * bsize < NEEDED_BYTES || (files > 0 && ffree === 0) ? 'full' : null;
  } catch {
    return null;
  }
}

/** Codes that such a disk may be the cause of: SQLite often says only that a read, a write or an open failed. */
const SUSPECT = /^SQLITE_(IOERR|CANTOPEN|READONLY)/;
/** Codes that say so themselves. */
const CERTAIN: Readonly<Record<string, DiskTrouble>> = {
  SQLITE_FULL: 'full',
  ENOSPC: 'full',
  EDQUOT: 'full',
  EROFS: 'read-only',
};

const MEANING: Readonly<Record<DiskTrouble, readonly [code: ErrorCode, todo: string]>> = {
  full: ['STORAGE_FULL', 'make room, then try again'],
  'read-only': [
    'STORAGE_READ_ONLY',
    'mount it for writing, after an I/O error check it first; or copy the files to another disk and use them there',
  ],
};

/**
 * The failure that an error means when the disk of one of the files takes no writes; null for any other error. An error
 * of the file system names its file itself.
 */
export function diskFailure(error: unknown, ...files: readonly string[]): Failure | null {
  const { code, path } = error as NodeJS.ErrnoException;
  const certain = CERTAIN[String(code)] ?? null;
  if (certain === null && !SUSPECT.test(String(code))) return null;
  const places = path === undefined ? files : [path, ...files];
  const place = places.find((each) => {
    const trouble = diskTrouble(each);
    return certain === null ? trouble !== null : trouble === certain;
  });
  const trouble = certain ?? (place === undefined ? null : diskTrouble(place));
  if (trouble === null) return null;
  const [answer, todo] = MEANING[trouble];
  const disk = place ?? places[0];
  return {
    code: answer,
    message: `the disk${disk === undefined ? '' : ` of ${disk}`} is ${trouble} (${code}): ${todo}`,
  };
}

/** Runs what uses the files; an error that a full or read-only disk caused becomes its failure. */
export function namingDisk<T>(files: readonly string[], run: () => Result<T>): Result<T> {
  try {
    return run();
  } catch (error) {
    const failure = diskFailure(error, ...files);
    if (failure === null) throw error;
    return failed(failure);
  }
}
