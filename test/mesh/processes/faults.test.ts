// Runs alone: its nodes must answer in time.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { runFaults } from './fault-run.js';

it('loses no replicated write over kills, stops and partitions under 8 writers', {
  timeout: 180_000,
}, async (context) => {
  const report = await runFaults(
    {
      nodes: 3,
      kills: 1,
      partitions: 1,
      stops: 1,
      drainEvery: 12,
      drainWithinMs: 30_000,
      withinMs: 25_000,
    },
    (text) => context.diagnostic(text),
  );
  context.diagnostic(JSON.stringify(report));
  assert.ok(report.replicated > 60, `only ${report.replicated} writes were replicated`);
  assert.ok(report.deleted > 0);
});
