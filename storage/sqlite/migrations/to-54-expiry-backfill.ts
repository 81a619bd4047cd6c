import { TTL_SECONDS } from '../../../protocol/base/limits.js';
import { instantAfter } from '../../../protocol/base/time.js';
import type { MigrationStep } from './step.js';

interface UnlimitedRow {
  row: number;
  tier: 'short' | 'mid';
  since: string;
}

/**
 * Mid and short rows without an expiry get `created_at` plus the default lifetime of their tier (interface §2.1).
 * Decision: an invalid expiry counts as missing; when `created_at` is invalid, the lifetime begins at `updated_at`,
 * else now.
 */
export const to54: MigrationStep = {
  to: 54,
  apply(db, { now }) {
    const rows = db
      .prepare<[string], UnlimitedRow>(
        `SELECT rowid AS row, tier, coalesce(older_instant(created_at), older_instant(updated_at), ?) AS since
         FROM memories WHERE tier IN ('short', 'mid') AND older_instant(expires_at) IS NULL`,
      )
      .all(now);
    const setExpiry = db.prepare('UPDATE memories SET expires_at = ? WHERE rowid = ?');
    for (const { row, tier, since } of rows) setExpiry.run(instantAfter(since, TTL_SECONDS[tier]), row);
  },
};
