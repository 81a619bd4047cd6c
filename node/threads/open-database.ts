import { serverSchemaVersion } from '../../storage/open/inspect-server.js';
import { type DatabasePlace, openForWriting } from '../../storage/open/open.js';
import type { Connection } from '../../storage/sql/connection.js';
import { ConfigError } from '../config/load-settings.js';
import type { Settings } from '../config/settings.js';
import { besideDatabase } from '../config/store-url.js';
import { systemClock, systemCrypto, systemRandom } from '../seams.js';

/** Where the database of some settings is. Throws ConfigError where it cannot have the limit that they set. */
export function placeOf(settings: Settings): DatabasePlace {
  const { dbPath, storeUrl, synchronous, postgresStatementTimeoutMs: statementTimeoutMs } = settings;
  if (storeUrl === null) return { engine: 'sqlite', path: dbPath, synchronous };
  if (settings.storageMaxBytes !== null)
    throw new ConfigError(
      '[storage] max_bytes limits the embedded database, and this one is on a server: leave it out, and limit the database there',
    );
  const auditHeadPath = `${besideDatabase(settings)}.audit-head`;
  return { engine: 'postgres', url: storeUrl.reveal(), statementTimeoutMs, auditHeadPath };
}

/** True where the database is one of a server, and nothing has made its tables yet. Throws StartRefusedError. */
export function hasNoTables(settings: Settings): boolean {
  const place = placeOf(settings);
  return place.engine === 'postgres' && serverSchemaVersion(place) === 0;
}

/** Opens, creates or migrates a database under the id of this machine. Throws DatabaseRefusedError. */
export function openAs(
  place: DatabasePlace,
  peerId: string,
  options: { readonly busyTimeoutMs: number; readonly aloneIfFull?: boolean },
): Connection {
  return openForWriting(place, {
    identity: { peerId },
    nowMs: systemClock.nowMs(),
    crypto: systemCrypto,
    freshEpoch: Buffer.from(systemRandom.bytes(8)).toString('hex'),
    ...options,
  });
}
