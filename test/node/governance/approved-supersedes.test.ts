import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Caller } from '../../../node/identity/caller.js';
import { type Fields, type HookedNode, openHookedNode } from '../../support/hooked-node.js';
import { HookHome } from '../../support/hooks.js';

const RULE = `[[permissions.rules]]
namespace_pattern = "ask/**"
op = "memory_link"
agent_pattern = "ai:coder"
decision = "ask"
`;

const caller = (agentId: string): Caller => ({
  ...{ agentId, claimed: 'explicit', admin: false, local: true },
  viewer: { all: false, agentId, asNamespace: null },
});
const [CODER, LEAD, READER] = [caller('ai:coder'), caller('ai:lead'), caller('ai:reader')];

describe('a superseding link that waits for its approval', () => {
  const home = new HookHome();
  let node: HookedNode;
  const said = async (operation: string, input: Fields, by: Caller): Promise<Fields> => {
    const answer = await node.call(operation, input, by);
    assert.ok(answer.ok, JSON.stringify(answer));
    return answer.value;
  };
  const store = async (title: string, kind: string, by: Caller) =>
    String((await said('memory_store', { title, content: title, namespace: 'ask/x', kind }, by))['id']);
  before(async () => {
    writeFileSync(join(home.home, 'config.toml'), RULE, { mode: 0o600 });
    node = await openHookedNode(home);
    await node.run('memory_agent_register', { agent_id: LEAD.agentId, agent_type: 'ai:test' });
  });
  after(() => node.close());

  it('tells who reflects on the reflection when it is executed, and from its requester', async () => {
    const old = await store('old', 'reflection', CODER);
    const fresh = await store('fresh', 'reflection', CODER);
    const dependent = await store('dependent', 'observation', READER);
    await said('memory_link', { source_id: dependent, target_id: old, relation: 'reflects_on' }, READER);
    const inbox = async () => (await said('memory_inbox', {}, READER))['messages'] as readonly Fields[];
    const linking = { source_id: fresh, target_id: old, relation: 'supersedes' };
    const { status, pending_id: id } = await said('memory_link', linking, CODER);
    assert.equal(status, 'pending');
    assert.deepEqual(await inbox(), []);
    await said('memory_pending_approve', { id }, LEAD);
    const [message, ...more] = await inbox();
    assert.deepEqual([message?.['from'], more.length], ['ai:coder', 0]);
    assert.ok(String(message?.['payload']).includes(dependent), JSON.stringify(message));
  });
});
