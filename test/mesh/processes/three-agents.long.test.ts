import assert from 'node:assert/strict';
import { it } from 'node:test';
import { letAgentsWork } from './agents-at-work.js';

it('lets three agents on three nodes do each of 200 actions once and in order, over two deaths', {
  timeout: 600_000,
}, async (context) => {
  const report = await letAgentsWork({
    actions: 200,
    deaths: [
      { agent: 2, after: 20, state: 'in_progress' },
      { agent: 1, after: 40, state: 'claimed' },
    ],
  });
  context.diagnostic(JSON.stringify(report));
  assert.ok(report.edges >= 100);
});
