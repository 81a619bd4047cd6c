import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Fired } from '../../actors/hooks/hook-chain.js';
import { type Hooks, NO_HOOKS } from '../../actors/hooks/hooks.js';
import { curatorRollback } from '../../node/operations/curator/curator.js';
import { memoryNamespaceSetStandard } from '../../node/operations/governance/memory-namespace-standard.js';
import { TellingStore } from '../../node/operations/telling-store.js';
import { type Request, runOperation } from '../../node/pipeline/pipeline.js';
import type { InlineNode } from '../../node/runtime/inline-node.js';
import { type Fields, OPERATOR_CALLER } from '../coordination/coordination-node.js';
import { CuratorNode, WINDOW, WINDOW_AGAIN } from '../support/curator-node.js';
import { ModelServer } from '../support/model-server.js';
import { until } from '../support/wait.js';

/** Hooks that note what they hear, and decide as the test says. */
function hooksThat(decide: (fired: Fired) => 'allow' | 'deny' | Fields) {
  const heard: Fired[] = [];
  const hooks: Hooks = {
    ...NO_HOOKS,
    has: () => true,
    fire: async (fired) => {
      heard.push(fired);
      const said = decide(fired);
      if (said === 'deny')
        return { kind: 'deny', reason: 'no', code: 1, command: 'guard', busy: false } as never;
      return { kind: 'allow', delta: said === 'allow' ? {} : said } as never;
    },
    later: ({ firings }) => void firings().then((all) => heard.push(...all)),
  };
  return { hooks, heard };
}

describe('the curator under hooks and policies', { timeout: 60_000 }, () => {
  let model: ModelServer;
  let node: CuratorNode;
  let ids: string[];
  beforeEach(async () => {
    model = await ModelServer.start();
    model.says = ({ system }) =>
      system.startsWith('You tag') ? 'deploy' : system.startsWith('You comp') ? 'no' : WINDOW_AGAIN;
    node = await CuratorNode.open(model);
    ids = [
      await node.store('ai:ann', 'one', WINDOW),
      await node.store('ai:ann', 'two', WINDOW_AGAIN),
      await node.store('ai:ann', 'three', `${WINDOW_AGAIN} Never.`),
    ];
  });
  afterEach(async () => {
    await node.close();
    await model.close();
  });

  const cycleUnder = async (hooks: Hooks) => {
    const id = await node.begin();
    await node.work({ ...node.node, services: { ...node.node.services, hooks } } as InlineNode);
    return node.report(id);
  };

  it('joins nothing, and asks no model to, when pre_compaction denies', async () => {
    const { hooks, heard } = hooksThat(({ event }) => (event === 'pre_compaction' ? 'deny' : 'allow'));
    const report = await cycleUnder(hooks);
    const [asked] = heard.filter(({ event }) => event === 'pre_compaction');
    assert.deepEqual(asked!.namespace, 'global');
    assert.deepEqual(asked!.payload['pass_name'], 'consolidate');
    assert.deepEqual(new Set(asked!.payload['candidate_ids'] as string[]), new Set(ids));
    assert.match(report.autonomy.errors[0] ?? '', /HOOK_VETO/);
    assert.ok(ids.every((id) => node.plain(id) !== null));
    assert.ok(model.asked.every(({ system }) => !system.startsWith('You join')));
  });

  it('joins what pre_compaction leaves, and nothing that it adds', async () => {
    const stranger = await node.store('ai:bob', 'b', WINDOW, { namespace: 'bob' });
    const left = ids.slice(0, 2);
    const { hooks } = hooksThat(({ event }) =>
      event === 'pre_compaction' ? { candidate_ids: [...left, stranger] } : 'allow',
    );
    const report = await cycleUnder(hooks);
    assert.equal(report.autonomy.memories_consolidated, 2, JSON.stringify(report));
    assert.deepEqual(
      [...left, ids[2]!, stranger].map((id) => node.plain(id) === null),
      [true, true, false, false],
    );
  });

  it('tells on_compaction_rollback what was undone', async () => {
    await node.cycle();
    const { hooks, heard } = hooksThat(() => 'allow');
    const { services } = node.node;
    const store = new TellingStore(services.store, { ...services, hooks });
    const [record] = node.rows("namespace = '_curator/rollback'");
    const input = { id: record!['id'] };
    const request: Request = { surface: 'cli', caller: OPERATOR_CALLER, input, unknownFields: 'refuse' };
    const answer = await runOperation(curatorRollback, request, { ...services, hooks, store });
    assert.ok(answer.ok, JSON.stringify(answer));
    const summary = (answer.value['rolled_back'] as Fields[])[0]!['summary_id'];
    await until('the hook hears', () => heard.some(({ event }) => event === 'on_compaction_rollback'));
    assert.deepEqual(heard.find(({ event }) => event === 'on_compaction_rollback')!.payload, {
      ...{ pass_name: 'consolidate', summary_id: summary, namespace: 'global', reason: 'operator' },
    });
  });

  for (const [word, governance] of [
    ['wants an approval', { write: 'approve', approver: 'human' }],
    ['wants registered agents', { write: 'registered' }],
  ] as const)
    it(`leaves a namespace alone whose policy ${word}, and says so`, async () => {
      const policy = await node.call(memoryNamespaceSetStandard, { namespace: 'global', governance });
      assert.ok(policy.ok, JSON.stringify(policy));
      const before = ids.map((id) => node.plain(id));
      const report = await node.cycle();
      assert.deepEqual(
        ids.map((id) => node.plain(id)),
        before,
      );
      assert.match(report.errors.join(), /GOVERNANCE|curator asks for no approval/);
      assert.equal(node.db.prepare("SELECT count(*) FROM records WHERE kind = 'pending'").pluck().get(), 0);
    });
});
