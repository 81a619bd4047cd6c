import { existsSync } from 'node:fs';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import { SCHEMA_VERSION } from '../../protocol/base/schema-version.js';
import type { Crypto } from '../../protocol/base/seams.js';
import type { ResetClockOutcome } from '../../protocol/replication/reset-clock.js';
import type { Connection } from '../sql/connection.js';
import { engineOf } from '../sql/engine.js';
import { type HoldOptions, holdExclusively } from './exclusive-hold.js';
import { schemaVersion } from './file-schema.js';

export interface ResetClockOptions extends HoldOptions {
  readonly path: string;
  readonly crypto: Crypto;
  /** True only reports what is ahead. */
  readonly dryRun: boolean;
}

/**
 * Sets the clock of a database's log back to the present, in one transaction. Needs the database exclusively:
 * DATABASE_IN_USE while another process has it open.
 */
export function resetClock(options: ResetClockOptions): Result<ResetClockOutcome> {
  const { path } = options;
  if (!existsSync(path)) return fail('NOT_FOUND', `there is no database at ${path}`);
  const held = holdExclusively(path, options);
  if (!held.ok) return failed(held.error);
  const db = held.value;
  if (db === null) return fail('DATABASE_ERROR', `${path} cannot be read as a database: restore a backup`);
  try {
    if (schemaVersion(db) !== SCHEMA_VERSION) {
      return fail(
        'MIGRATION_REFUSED',
        'the database is of another release: start the node once, then stop it',
      );
    }
    return ok(db.transaction(() => resetWithin(db, { ...options, reason: 'the clock was ahead' }))());
  } finally {
    db.close();
  }
}

/** Does so inside the caller's transaction. */
export function resetWithin(
  db: Connection,
  options: Omit<ResetClockOptions, 'path'> & { readonly reason: string },
): ResetClockOutcome {
  const { freshEpoch: epoch, reason, dryRun } = options;
  const engine = engineOf(db, options);
  engine.log.begin();
  const outcome = engine.run({ kind: 'reset-clock', epoch, reason, dryRun });
  engine.quotas.flush();
  engine.digests.flush();
  engine.log.finish();
  return outcome;
}
