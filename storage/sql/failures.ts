import { fail, type Result } from '../../protocol/base/result.js';
import type { Subject } from '../../protocol/kinds/kind.js';

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

export function stayedLocked(): Result<never> {
  return fail('OVERLOADED', 'the database stayed locked by other processes; nothing was changed');
}

export function diskFull(): Result<never> {
  return fail('STORAGE_FULL', 'the disk is full; nothing was changed');
}
