import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import pg from 'pg';
import { loadMachineIdentity } from '../../node/identity/machine-key.js';
import { systemCrypto, systemRandom } from '../../node/seams.js';
import { openPostgres } from '../../storage/postgres/open-postgres.js';
import { PostgresConnection } from '../../storage/postgres/postgres-connection.js';
import type { Connection } from '../../storage/sql/connection.js';
import { openReader } from '../../storage/sqlite/connection.js';
import { type BenchDatabase, databasePath, openBenchDatabase, writingTo } from './database.js';
import type { BenchOptions } from './options.js';
import type { Workspace } from './workspace.js';

/** Where the database of a benchmark is: a file in its home or, with `--store-url`, a new database of a server. */
export interface BenchPlace {
  readonly home: string;
  /** The address of the database on its server; null for a file. */
  readonly url: string | null;
  /** What a daemon on this database needs in its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Creates or opens it with the service's own writer. */
  writing(): BenchDatabase<Connection>;
  reading(): Connection;
  /** Removes what the workspace does not; its daemons must have ended. */
  end(): Promise<void>;
}

export async function placeOf(
  { storeUrl }: Pick<BenchOptions, 'storeUrl'>,
  workspace: Workspace,
): Promise<BenchPlace> {
  const home = workspace.folder();
  if (storeUrl !== null) return serverPlace(home, storeUrl);
  return {
    home,
    url: null,
    env: {},
    writing: () => openBenchDatabase(databasePath(home), 'OFF'),
    reading: () => openReader(databasePath(home)),
    end: async () => {},
  };
}

let made = 0;

async function serverPlace(home: string, server: string): Promise<BenchPlace> {
  made += 1;
  const name = `bench_${process.pid}_${made}`;
  await administrate(server, `CREATE DATABASE ${name}`);
  const address = new URL(server);
  address.pathname = `/${name}`;
  const place = { url: address.href, statementTimeoutMs: 0 };
  return {
    home,
    url: place.url,
    env: { SVC_STORE_URL: place.url },
    writing: () => {
      // All daemons of a database have one key.
      const { peerId } = loadMachineIdentity(join(home, 'keys'), systemRandom);
      const start = { identity: { peerId }, nowMs: Date.now(), crypto: systemCrypto };
      return writingTo(openPostgres(place, { ...start, freshEpoch: randomBytes(8).toString('hex') }));
    },
    reading: () => new PostgresConnection({ ...place, readOnly: true }),
    end: () => administrate(server, `DROP DATABASE ${name} WITH (FORCE)`),
  };
}

async function administrate(server: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
