import assert from 'node:assert/strict';
import { it } from 'node:test';
import { runFaults } from './fault-run.js';

const HOUR_MS = 3_600_000;

it('loses no replicated write over 300 kills and 60 partitions', { timeout: HOUR_MS }, async (context) => {
  const report = await runFaults(
    {
      nodes: 3,
      kills: 300,
      partitions: 60,
      stops: 20,
      drainEvery: 20,
      drainWithinMs: 60_000,
      withinMs: 0.75 * HOUR_MS,
    },
    (text) => context.diagnostic(text),
  );
  context.diagnostic(JSON.stringify(report));
  const partitions = Object.values(report.partitions).reduce((sum, count) => sum + count, 0);
  assert.deepEqual([report.kills, partitions, report.stops], [300, 60, 20], 'the time was too short');
  assert.ok(report.replicated > 10_000, `only ${report.replicated} writes were replicated`);
});
