import assert from 'node:assert/strict';
import { it } from 'node:test';
import { letAgentsWork, type WorkPlan } from './agents-at-work.js';

const begun = { agent: 2, state: 'in_progress' };

/** What three agents on three nodes do each once and in order, whoever of them dies. */
const PLANS: Readonly<Record<string, WorkPlan>> = {
  '30 actions, over the death of one agent': { actions: 30, deaths: [{ ...begun, after: 3 }] },
  '200 actions, over two deaths': {
    actions: 200,
    deaths: [
      { ...begun, after: 20 },
      { agent: 1, after: 40, state: 'claimed' },
    ],
  },
};

for (const [what, plan] of Object.entries(PLANS))
  it(`lets three agents on three nodes do ${what}, each once and in order`, {
    timeout: 900_000,
  }, async (context) => {
    const report = await letAgentsWork(plan);
    context.diagnostic(JSON.stringify(report));
    assert.ok(report.edges * 3 >= plan.actions);
  });
