// Runs alone: its nodes must answer in time.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { PostgresServer, withoutOwnServer } from '../../support/postgres-server.js';
import { runFaults } from './fault-run.js';

const MINUTE_MS = 60_000;

it('a node on SQLite and one on PostgreSQL lose no replicated write over 40 kills and 12 partitions', {
  skip: withoutOwnServer,
  timeout: 20 * MINUTE_MS,
}, async (context) => {
  const server = await PostgresServer.startOwn(['max_connections=60', 'fsync=on']);
  try {
    const report = await runFaults(
      {
        nodes: 2,
        databases: { 1: { storeUrl: await server.database() } },
        server: { process: server, kills: 10 },
        kills: 40,
        partitions: 12,
        stops: 8,
        drainEvery: 10,
        drainWithinMs: MINUTE_MS,
        withinMs: 15 * MINUTE_MS,
      },
      (text) => context.diagnostic(text),
    );
    context.diagnostic(JSON.stringify(report));
    const partitions = Object.values(report.partitions).reduce((sum, count) => sum + count, 0);
    const done = [report.kills, partitions, report.stops, report.serverKills];
    assert.deepEqual(done, [40, 12, 8, 10], 'the time was too short');
    assert.ok(report.replicated > 150, `only ${report.replicated} writes were replicated`);
  } finally {
    await server.stop();
  }
});
