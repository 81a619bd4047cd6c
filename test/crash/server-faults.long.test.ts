// Runs alone: it kills a server and two daemons under load.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { withoutOwnServer } from '../support/postgres-server.js';
import { serverFaults } from './server-faults.js';

it('two daemons on a server keep what they acknowledged through 21 kills', {
  skip: withoutOwnServer,
  timeout: 900_000,
}, async (t) => {
  const figures = await serverFaults(21);
  t.diagnostic(JSON.stringify(figures));
  assert.ok(
    figures['stored']! > 0 && figures['leases']! > 0 && figures['counted']! > 0,
    JSON.stringify(figures),
  );
});
