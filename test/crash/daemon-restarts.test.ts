import assert from 'node:assert/strict';
import { it } from 'node:test';
import { daemonRestarts } from './daemon-restarts.js';

it('four agents lose nothing while their daemon restarts twice', { timeout: 120_000 }, async (context) => {
  const report = await daemonRestarts(2);
  context.diagnostic(JSON.stringify(report));
  assert.ok(report.stored > 10, `only ${report.stored} rows were stored`);
  assert.ok(report.through.daemon > 0 && report.through.process > 0, JSON.stringify(report.through));
});
