import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type HookedNode, openHookedNode } from '../support/hooked-node.js';
import { HookHome } from '../support/hooks.js';

type Row = Record<string, unknown>;

describe('a hook of what reads answer', { timeout: 60_000 }, () => {
  const home = new HookHome();
  let node: HookedNode;
  const ids: Record<string, string> = {};
  before(async () => {
    const redact = home.node(
      "const { payload } = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));",
      "const memories = payload.memories.map(({ id, content }) => ({ id, title: 'gone', content: String(content).replaceAll('4711', '####'), priority: 1 }));",
      "console.log(JSON.stringify({ action: 'modify', delta: { memories } }));",
    );
    const wrong = home.node(
      `console.log('{"action":"modify","delta":{"memories":[{"id":"x","title":7}]}}');`,
    );
    const deny = home.node(`console.log('{"action":"deny","reason":"closed"}');`);
    home.register(
      { event: 'pre_answer', command: redact, namespace: 'bank', fail_mode: 'closed', timeout_ms: 20_000 },
      { event: 'pre_answer', command: wrong, namespace: 'wrong', timeout_ms: 20_000 },
      { event: 'pre_answer', command: deny, namespace: 'closed', timeout_ms: 20_000 },
    );
    node = await openHookedNode(home);
    for (const namespace of ['bank', 'open', 'wrong', 'closed']) {
      const input = { title: `account of ${namespace}`, content: 'the number is 4711', namespace };
      ids[namespace] = String((await node.run('memory_store', input))['id']);
    }
  });
  after(() => node.close());

  const memories = async (operation: string, input: Row) => {
    const answer = await node.run(operation, input);
    return (answer['memories'] ?? answer['results']) as Row[];
  };

  it('rewrites the memories of its namespace in lists, recalls, searches and gets, and nothing else', async () => {
    const both = { namespace: 'bank' };
    for (const [operation, input] of [
      ['memory_list', both],
      ['memory_recall', { ...both, context: 'account number' }],
      ['memory_search', { ...both, query: 'number' }],
      ['memory_export', both],
    ] as const) {
      const [memory] = (await memories(operation, input)) as [Row];
      assert.equal(memory['title'], 'gone', operation);
      assert.equal(memory['priority'], 5, operation);
      assert.ok(!JSON.stringify(memory).includes('4711'), operation);
    }
    const got = await node.run('memory_get', { id: ids['bank'] });
    assert.ok(!JSON.stringify(got).includes('4711'));
    const [open] = (await memories('memory_list', { namespace: 'open' })) as [Row];
    assert.deepEqual([open['title'], open['content']], ['account of open', 'the number is 4711']);
  });

  it('denies an answer, and one that it would make unfit is not given', async () => {
    for (const namespace of ['closed', 'wrong']) {
      const refused = await node.refused('memory_list', { namespace });
      assert.equal(refused.code, 'HOOK_VETO', namespace);
      assert.ok(!JSON.stringify(refused).includes('4711'));
    }
  });

  it('changes nothing that is stored', async () => {
    const found = await node.services.store.query({
      ...{ kind: 'get-memory', id: ids['bank']!, linksMax: 0, now: new Date().toISOString() },
      viewer: { all: true, agentId: null, asNamespace: null },
    });
    assert.equal(found.ok && found.value.memory.content, 'the number is 4711');
  });
});
