import { after, before, describe } from 'node:test';
import { systemClock, systemCrypto, systemRandom, systemScheduler } from '../../node/seams.js';
import type { Clock } from '../../protocol/base/seams.js';
import { openPostgres } from '../../storage/postgres/open-postgres.js';
import { PostgresConnection } from '../../storage/postgres/postgres-connection.js';
import { InlineStore } from '../../storage/sql/inline-store.js';
import { UNLIMITED } from '../support/memories.js';
import { PostgresServer, withoutServer } from '../support/postgres-server.js';
import { damageContract } from './damage-contract.js';
import { identityContract } from './identity-contract.js';
import { lifeContract } from './life-contract.js';
import { type StoreUnderTest, storeContract } from './store-contract.js';

const PEER = 'peer-0000000000000001';

describe('PostgreSQL', { skip: withoutServer }, () => {
  let server: PostgresServer;
  before(async () => {
    server = await PostgresServer.start();
  });
  after(() => server.stop());

  async function inline(): Promise<StoreUnderTest> {
    const place = { url: await server.database(), statementTimeoutMs: 30_000 };
    let nowMs = 0;
    const clock: Clock = { nowMs: () => nowMs, monotonicMs: () => systemClock.monotonicMs() };
    const start = { identity: { peerId: PEER }, nowMs: 1, freshEpoch: '00112233aabbccdd' };
    const store = new InlineStore({
      db: openPostgres(place, start),
      clock,
      scheduler: systemScheduler,
      random: systemRandom,
      crypto: systemCrypto,
      reportBug: (error) => {
        throw error;
      },
      signer: null,
      policy: UNLIMITED,
      shared: false,
    });
    return {
      store,
      connect: () => new PostgresConnection({ ...place, readOnly: false }),
      setNow: (ms) => {
        nowMs = ms;
      },
      close: () => store.close(),
    };
  }

  storeContract('PostgreSQL', inline);
  lifeContract('PostgreSQL', inline);
  identityContract('PostgreSQL', inline);
  damageContract('PostgreSQL', inline);
});
