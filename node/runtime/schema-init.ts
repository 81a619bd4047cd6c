import { fail, type Result } from '../../protocol/base/result.js';
import { type InitialisedServer, initialiseServer } from '../../storage/postgres/initialise-server.js';
import type { Settings } from '../config/settings.js';
import { systemClock } from '../seams.js';

/** Makes the extensions and the tables of the database server of these settings. */
export function initialiseDatabase(settings: Settings, dim: number | null): Result<InitialisedServer> {
  const { storeUrl, postgresStatementTimeoutMs: statementTimeoutMs } = settings;
  if (storeUrl === null)
    return fail(
      'VALIDATION_FAILED',
      'schema-init needs the address of a database server: --store-url, or SVC_STORE_URL_FILE',
      {
        fields: ['store_url'],
      },
    );
  return initialiseServer(
    { url: storeUrl.reveal(), statementTimeoutMs },
    { nowMs: systemClock.nowMs(), dim },
  );
}
