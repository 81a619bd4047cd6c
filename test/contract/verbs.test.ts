import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { systemClock, systemCrypto, systemRandom, systemScheduler } from '../../node/seams.js';
import { openPostgres } from '../../storage/postgres/open-postgres.js';
import { PostgresConnection } from '../../storage/postgres/postgres-connection.js';
import type { Connection } from '../../storage/sql/connection.js';
import { InlineStore } from '../../storage/sql/inline-store.js';
import { openDatabase } from '../../storage/sqlite/open-database.js';
import { openSqlite } from '../../storage/sqlite/open-sqlite.js';
import { temporaryFolder } from '../support/daemon-process.js';
import { UNLIMITED } from '../support/memories.js';
import { PostgresServer, withoutServer } from '../support/postgres-server.js';
import type { StoreUnderTest } from './store-contract.js';
import { verbContract } from './verb-contract.js';
import { PEER } from './verbs/world.js';

const START = { identity: { peerId: PEER }, nowMs: 1, freshEpoch: '00112233aabbccdd' };

function storeOver(db: Connection, connect: () => Connection): StoreUnderTest {
  let nowMs = 0;
  const store = new InlineStore({
    ...{ db, scheduler: systemScheduler, random: systemRandom, crypto: systemCrypto },
    clock: { nowMs: () => nowMs, monotonicMs: () => systemClock.monotonicMs() },
    reportBug: (error) => {
      throw error;
    },
    ...{ signer: null, policy: UNLIMITED, shared: false },
  });
  return {
    ...{ store, connect },
    setNow: (ms) => {
      nowMs = ms;
    },
    close: () => store.close(),
  };
}

verbContract('SQLite', async () => {
  const path = join(temporaryFolder('verbs'), 'store.db');
  const db = openDatabase({ ...START, path, crypto: systemCrypto, busyTimeoutMs: 100, synchronous: 'OFF' });
  return storeOver(db, () => openSqlite(path));
});

describe('PostgreSQL', { skip: withoutServer }, () => {
  let server: PostgresServer;
  before(async () => {
    server = await PostgresServer.start();
  });
  after(() => server.stop());

  verbContract('PostgreSQL', async () => {
    const place = { url: await server.database(), statementTimeoutMs: 30_000 };
    return storeOver(openPostgres(place, START), () => new PostgresConnection({ ...place, readOnly: false }));
  });
});
