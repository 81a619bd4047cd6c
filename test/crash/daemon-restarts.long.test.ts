import assert from 'node:assert/strict';
import { it } from 'node:test';
import { daemonRestarts } from './daemon-restarts.js';

it('four agents lose nothing while their daemon restarts 50 times', { timeout: 900_000 }, async (context) => {
  const report = await daemonRestarts(50);
  context.diagnostic(JSON.stringify(report));
  assert.ok(report.kills > 10 && report.ends > 3, JSON.stringify(report));
  assert.ok(report.stored > 400, `only ${report.stored} rows were stored`);
  assert.ok(report.through.daemon > 10 && report.through.process > 10, JSON.stringify(report.through));
});
