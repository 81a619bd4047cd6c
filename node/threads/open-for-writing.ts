import type { Synchronous } from '../../storage/sqlite/connection.js';
import { openDatabase } from '../../storage/sqlite/open-database.js';
import type { SqliteConnection } from '../../storage/sqlite/sqlite-connection.js';
import { systemClock, systemCrypto, systemRandom } from '../seams.js';

/** Opens, creates or migrates the database file under the id of this machine. Throws DatabaseRefusedError. */
export function openForWriting(
  path: string,
  peerId: string,
  options: {
    readonly busyTimeoutMs: number;
    readonly synchronous: Synchronous;
    readonly aloneIfFull?: boolean;
  },
): SqliteConnection {
  return openDatabase({
    path,
    identity: { peerId },
    nowMs: systemClock.nowMs(),
    crypto: systemCrypto,
    freshEpoch: Buffer.from(systemRandom.bytes(8)).toString('hex'),
    ...options,
  });
}
