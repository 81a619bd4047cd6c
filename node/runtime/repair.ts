import type { Result } from '../../protocol/result.js';
import { namingDisk } from '../../storage/disk-failure.js';
import { type RepairedDatabase, repairDatabase } from '../../storage/sqlite/repair-database.js';
import type { Settings } from '../config/settings.js';
import { systemClock, systemCrypto, systemRandom } from '../seams.js';

/** Rebuilds indexes and full text of the node's database; no other process may have it open. */
export function repairFile(settings: Settings, step: (name: string) => void): Result<RepairedDatabase> {
  return namingDisk([settings.dbPath], () =>
    repairDatabase({
      path: settings.dbPath,
      nowMs: systemClock.nowMs(),
      freshEpoch: Buffer.from(systemRandom.bytes(8)).toString('hex'),
      crypto: systemCrypto,
      step,
    }),
  );
}
