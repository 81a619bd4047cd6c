import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { memoryAutoConsolidate } from '../../../node/operations/power/memory-auto-consolidate.js';
import { runOperation } from '../../../node/pipeline/pipeline.js';
import { REMOVE_BATCH_MAX } from '../../../protocol/base/limits.js';
import { fail } from '../../../protocol/base/result.js';
import type { Store } from '../../../storage/port.js';
import { CALLER, type Fields, type HookedNode, openHookedNode } from '../../support/hooked-node.js';
import { HookHome } from '../../support/hooks.js';
import { storing } from '../../support/memories.js';

const nodes: HookedNode[] = [];
after(() => Promise.all(nodes.map((node) => node.close())));

async function open(home: HookHome): Promise<HookedNode> {
  const node = await openHookedNode(home);
  nodes.push(node);
  return node;
}

describe('a call of several commands', { timeout: 120_000 }, () => {
  it('asks governance hooks once about a forget of several batches', async () => {
    const home = new HookHome();
    const [before, told] = [home.noting(), home.noting()];
    home.register(
      { event: 'pre_governance_decision', command: before.command, timeout_ms: 20_000 },
      { event: 'post_governance_decision', command: told.command, timeout_ms: 20_000 },
    );
    const node = await openHookedNode(home);
    const count = 2 * REMOVE_BATCH_MAX + 1;
    const { store } = node.services;
    for (let n = 0; n < count; n += 1) {
      const stored = await store.execute(storing({ namespace: 'scratch', title: `note ${n}` }));
      assert.ok(stored.ok, JSON.stringify(stored));
    }
    assert.equal((await node.run('memory_forget', { namespace: 'scratch' }))['deleted'], count);
    // The end of a node waits for what has happened to be told.
    await node.close();
    const heard = { namespace: 'scratch', action: 'forget', agent_id: CALLER.agentId };
    assert.deepEqual(before.events(), [{ event: 'pre_governance_decision', payload: heard }]);
    assert.deepEqual(told.events(), [
      { event: 'post_governance_decision', payload: { ...heard, outcome: 'allow' } },
    ]);
  });

  it('goes on with the next group when one finds no room', async () => {
    const node = await open(new HookHome());
    for (const tag of ['busy', 'free'])
      for (const part of ['one', 'two', 'three'])
        await node.run('memory_store', { title: `${tag} ${part}`, content: part, tags: [tag] });
    const { store } = node.services;
    let refused = 0;
    const busy: Store = {
      query: (query, options) => store.query(query, options),
      selfCheck: (cursor, options) => store.selfCheck(cursor, options),
      close: () => store.close(),
      execute: async (command, options) => {
        const isFirst = command.kind === 'consolidate-memories' && refused === 0;
        if (!isFirst) return store.execute(command, options);
        refused += 1;
        return fail('OVERLOADED', 'no room');
      },
    };
    const answer = await runOperation(
      memoryAutoConsolidate,
      { surface: 'cli', caller: CALLER, input: {}, unknownFields: 'refuse' },
      { ...node.services, store: busy },
    );
    assert.ok(answer.ok, JSON.stringify(answer));
    const { consolidated, groups } = answer.value as { consolidated: number; groups: readonly Fields[] };
    assert.equal(consolidated, 3);
    assert.deepEqual(
      groups.map(({ error }) => error),
      ['no room', undefined],
    );
  });
});
