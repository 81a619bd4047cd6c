import { fail, type Result } from '../../protocol/base/result.js';
import type { Subject } from '../../protocol/kinds/kind.js';
import { diskFailure } from '../disk-failure.js';
import { isCorruption, isFull, sqliteCode } from './connection.js';

/** The answer of a command or query that needs a damaged row. */
export function dataDamaged({ kind, id }: Subject, since: string | null = null): Result<never> {
  const message =
    `the stored row of ${kind} ${id} is damaged; nothing was changed. The daemon repairs it in the background: try again in ` +
    'a moment. Without a daemon run "mnemesh repair". "mnemesh doctor" shows what is damaged.';
  return fail('DATA_DAMAGED', message, {
    damaged_kind: kind,
    damaged_id: id,
    ...(since === null ? {} : { damaged_since: since }),
  });
}

/** The answer for an error of the database itself, which is at `path`; any other error is a bug and is thrown. */
export function storageFailure(error: unknown, path: string): Result<never> {
  if (isFull(error)) return diskFull();
  const code = sqliteCode(error);
  if (code === null) throw error;
  const disk = diskFailure(error, path);
  if (disk !== null) return fail(disk.code, `nothing was changed: ${disk.message}`);
  if (isCorruption(error)) {
    const message = `the database file is damaged (${code}): stop all its processes and run "mnemesh repair"`;
    return fail('DATABASE_ERROR', message, { corrupt: true });
  }
  return fail('DATABASE_ERROR', `the database refused the write (${code}); nothing was changed`);
}

export function diskFull(): Result<never> {
  return fail('STORAGE_FULL', 'the disk is full; nothing was changed');
}
