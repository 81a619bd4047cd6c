import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SpawnRules } from '../../../node/hooks/spawn-rules.js';
import type { Store } from '../../../storage/port.js';
import { aRule } from '../../support/rules.js';
import { openTestNode } from '../../support/test-node.js';
import { within } from '../../support/wait.js';

describe('the rules about programs of hooks', { timeout: 60_000 }, () => {
  it('answer before the check is recorded', async () => {
    const { services, close } = await openTestNode();
    const { store } = services;
    const rule = aRule('R1', { rule_kind: 'process_spawn', matcher: { binary: '/bin/refused' } });
    const put = await store.execute({ kind: 'put-rule', rule, replaces: null, by: 'ai:operator' });
    assert.ok(put.ok, JSON.stringify(put));
    const recorded: unknown[] = [];
    // A writer that is busy for ever.
    const stuck: Pick<Store, 'query' | 'execute'> = {
      query: (query, options) => store.query(query, options),
      execute: (command) => {
        recorded.push(command);
        return new Promise(() => undefined);
      },
    };
    const rules = new SpawnRules({ ...services, store: stuck });
    const refusal = within('the answer', rules.refusal('/bin/refused'), { withinMs: 5000 });
    assert.equal(await refusal, 'the rule R1 refuses to start it');
    assert.equal(await rules.refusal('/bin/permitted'), null);
    assert.equal(recorded.length, 1);
    await close();
  });
});
