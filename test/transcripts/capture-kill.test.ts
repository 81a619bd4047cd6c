// Runs alone: it measures how many turns a daemon takes in a second.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { killWhileCapturing } from './capture-kill.js';

it('loses no acknowledged turn when the daemon is killed under turns', {
  timeout: 180_000,
}, async (context) => {
  const report = await killWhileCapturing({ perSecond: 200, seconds: 2 });
  context.diagnostic(JSON.stringify(report));
  assert.ok(report.acknowledged > 50, `only ${report.acknowledged} turns were acknowledged`);
  assert.ok(report.repeated > 0);
});
