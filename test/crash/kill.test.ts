// Runs alone: it needs many writes between two kills.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { killCycles } from './kill-cycle.js';

it('loses no acknowledged write over 6 kills under 8 writers', { timeout: 180_000 }, async (context) => {
  const report = await killCycles(6);
  context.diagnostic(JSON.stringify(report));
  assert.ok(report.acknowledged > 60, `only ${report.acknowledged} writes were acknowledged`);
  assert.ok(report.deleted > 0);
});
