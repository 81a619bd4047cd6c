import assert from 'node:assert/strict';
import { it } from 'node:test';
import { letAgentsWork } from './agents-at-work.js';

it('lets three agents on three nodes do each of 30 actions once and in order, over the death of one', {
  timeout: 120_000,
}, async (context) => {
  const report = await letAgentsWork({ actions: 30, deaths: [{ agent: 2, after: 3, state: 'in_progress' }] });
  context.diagnostic(JSON.stringify(report));
  assert.ok(report.edges >= 10);
});
