import assert from 'node:assert/strict';
import { it } from 'node:test';
import { killCycles } from './kill-cycle.js';

it('loses no acknowledged write over 200 kills under 8 writers', { timeout: 1_800_000 }, async (context) => {
  const report = await killCycles(200, (done) => {
    if (done % 20 === 0) context.diagnostic(`${done} kills`);
  });
  context.diagnostic(JSON.stringify(report));
  assert.ok(report.acknowledged > 2000, `only ${report.acknowledged} writes were acknowledged`);
});
