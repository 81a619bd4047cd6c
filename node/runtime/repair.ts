import { ok, type Result } from '../../protocol/base/result.js';
import type { ResetClockOutcome } from '../../protocol/replication/reset-clock.js';
import { namingDisk } from '../../storage/disk-failure.js';
import { resetServerClock, unusedServer } from '../../storage/open/move-database.js';
import { type RepairedDatabase, repairDatabase } from '../../storage/sqlite/repair-database.js';
import { resetClock } from '../../storage/sqlite/reset-clock.js';
import type { Settings } from '../config/settings.js';
import { systemClock, systemCrypto, systemRandom } from '../seams.js';
import { placeOf } from '../threads/open-database.js';

/** Rebuilds indexes and full text of the node's database; no other process may have it open. */
export function repairFile(settings: Settings, step: (name: string) => void): Result<RepairedDatabase> {
  const place = placeOf(settings);
  if (place.engine === 'postgres') {
    const unused = unusedServer(place);
    // The server repairs its own indexes (REINDEX); rows are repaired from the log in either engine.
    return unused.ok ? ok({ found: [], indexes: 0, texts: 0, clashes: [], left: [] }) : unused;
  }
  return namingDisk([settings.dbPath], () => repairDatabase({ ...held(settings), step }));
}

/** Sets the clock of the node's log back to the present; no other process may have the database open. */
export function resetLogClock(settings: Settings, dryRun: boolean): Result<ResetClockOutcome> {
  const place = placeOf(settings);
  if (place.engine === 'postgres') return resetServerClock(place, { ...held(settings), dryRun });
  return namingDisk([settings.dbPath], () => resetClock({ ...held(settings), dryRun }));
}

const held = ({ dbPath }: Settings) => ({
  path: dbPath,
  nowMs: systemClock.nowMs(),
  freshEpoch: Buffer.from(systemRandom.bytes(8)).toString('hex'),
  crypto: systemCrypto,
});
