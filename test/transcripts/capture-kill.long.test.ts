// Runs alone: it measures how many turns a daemon takes in a second.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { killWhileCapturing } from './capture-kill.js';

const PER_SECOND = 500;

it('takes 500 turns a second and loses none that was acknowledged', { timeout: 900_000 }, async (context) => {
  const report = await killWhileCapturing({ perSecond: PER_SECOND, seconds: 20 });
  context.diagnostic(JSON.stringify(report));
  assert.ok(report.rate >= 0.95 * PER_SECOND, JSON.stringify(report));
  assert.ok(report.repeated > 0);
});
