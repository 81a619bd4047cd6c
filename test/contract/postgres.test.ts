import { after, before, describe } from 'node:test';
import { inlineStoreOnServer } from '../support/inline-store.js';
import { PostgresServer, withoutServer } from '../support/postgres-server.js';
import { damageContract } from './damage-contract.js';
import { identityContract } from './identity-contract.js';
import { lifeContract } from './life-contract.js';
import { storeContract } from './store-contract.js';

describe('PostgreSQL', { skip: withoutServer }, () => {
  let server: PostgresServer;
  before(async () => {
    server = await PostgresServer.start();
  });
  after(() => server.stop());

  const inline = async () => inlineStoreOnServer(await server.database());

  storeContract('PostgreSQL', inline);
  lifeContract('PostgreSQL', inline);
  identityContract('PostgreSQL', inline);
  damageContract('PostgreSQL', inline);
});
