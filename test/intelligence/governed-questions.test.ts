import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { type AskingNode, agent, OPERATOR, openAskingNode } from '../support/asking-node.js';
import { ModelServer } from '../support/model-server.js';

type Json = Record<string, unknown>;

const TITLES = ['one', 'two', 'three', 'four', 'five'] as const;

describe('what a model writes, where a policy wants approval', () => {
  let server: ModelServer;
  let node: AskingNode;
  const ids = new Map<string, string>();
  const idOf = (title: (typeof TITLES)[number]) => ids.get(title)!;
  before(async () => {
    server = await ModelServer.start('native');
    node = await openAskingNode(server);
    await node.run('memory_agent_register', { agent_id: 'ai:operator', agent_type: 'human' }, OPERATOR);
    for (const title of TITLES) {
      const fields = { title, content: `about ${title}`, namespace: 'team' };
      ids.set(title, String((await node.run('memory_store', fields))['id']));
    }
    const rules = { title: 'rules', content: 'rules of the team', namespace: 'team' };
    const { id } = await node.run('memory_store', rules, OPERATOR);
    const governance = { write: 'approve', approver: 'human' };
    await node.run('memory_namespace_set_standard', { namespace: 'team', id, governance }, OPERATOR);
  });
  after(async () => {
    await node.close();
    await server.close();
  });
  beforeEach(() => {
    server.says = 'One and two.';
  });

  const approve = (waiting: Json) =>
    node.call('memory_pending_approve', { id: waiting['pending_id'] }, OPERATOR);
  const waits = async (name: string, input: Json) => {
    const answer = await node.call(name, input, agent('ai:alice'));
    assert.ok(answer.ok && answer.waits === true, JSON.stringify(answer));
    return answer.value;
  };
  const get = async (id: string) => (await node.run('memory_get', { id }, OPERATOR))['memory'] as Json;

  it('waits with the text of the model, and is stored as it was asked', async () => {
    const both = [idOf('one'), idOf('two')];
    const waiting = await waits('memory_consolidate', { ids: both, title: 'both', namespace: 'team' });
    server.says = 'Something else.';
    const approved = await approve(waiting);
    assert.ok(approved.ok, JSON.stringify(approved));
    const listed = await node.run('memory_list', { namespace: 'team' }, OPERATOR);
    const made = (listed['memories'] as Json[]).find(({ title }) => title === 'both')!;
    assert.equal(made['content'], 'One and two.');
  });

  it('is not stored when a memory changed while it waited', async () => {
    const both = [idOf('three'), idOf('four')];
    const waiting = await waits('memory_consolidate', { ids: both, title: 'later', namespace: 'team' });
    const edit = await waits('memory_update', { id: both[0], content: 'rewritten' });
    assert.ok((await approve(edit)).ok);
    const approved = await approve(waiting);
    assert.ok(!approved.ok, JSON.stringify(approved));
    assert.equal((await get(both[0]!))['content'], 'rewritten');
    assert.equal((await get(both[1]!))['content'], 'about four');
  });

  it('waits with the tags of the model', async () => {
    const id = idOf('five');
    server.says = 'red\nblue';
    const waiting = await waits('memory_auto_tag', { id });
    assert.deepEqual((await get(id))['tags'], []);
    assert.ok((await approve(waiting)).ok);
    assert.deepEqual((await get(id))['tags'], ['red', 'blue']);
  });
});
