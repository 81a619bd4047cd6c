import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { systemCrypto } from '../../node/seams.js';
import { openDatabase } from '../../storage/sqlite/open-database.js';
import { openSqlite } from '../../storage/sqlite/open-sqlite.js';
import { temporaryFolder } from '../support/daemon-process.js';
import { inlineStore, inlineStoreOnServer, NODE_START } from '../support/inline-store.js';
import { PostgresServer, withoutServer } from '../support/postgres-server.js';
import { verbContract } from './verb-contract.js';
import { PEER } from './verbs/world.js';

const START = { ...NODE_START, identity: { peerId: PEER } };

verbContract('SQLite', async () => {
  const path = join(temporaryFolder('verbs'), 'store.db');
  const db = openDatabase({ ...START, path, crypto: systemCrypto, busyTimeoutMs: 100, synchronous: 'OFF' });
  return inlineStore(db, () => openSqlite(path));
});

describe('PostgreSQL', { skip: withoutServer }, () => {
  let server: PostgresServer;
  before(async () => {
    server = await PostgresServer.start();
  });
  after(() => server.stop());

  verbContract('PostgreSQL', async () => inlineStoreOnServer(await server.database(), START));
});
