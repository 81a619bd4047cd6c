import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Caller } from '../../node/identity/caller.js';
import { memoryReflect } from '../../node/operations/reflections/memory-reflect.js';
import { runOperation } from '../../node/pipeline/pipeline.js';
import { detailsOf } from '../../protocol/base/result.js';
import { type Fields, type HookedNode, openHookedNode } from '../support/hooked-node.js';
import { HookHome } from '../support/hooks.js';
import { openTestNode } from '../support/test-node.js';

const caller = (agentId: string): Caller => ({
  ...{ agentId, claimed: 'explicit', admin: false, local: true },
  viewer: { all: false, agentId, asNamespace: null },
});
const [ANN, BOB, LEAD] = [caller('ai:ann'), caller('ai:bob'), caller('ai:lead')];
const SAID = { title: 'what follows', content: 'both outages were on a Sunday' };

describe('memory_reflect against those who misuse it', { timeout: 120_000 }, () => {
  let node: HookedNode;
  let notes = 0;
  before(async () => {
    node = await openHookedNode(new HookHome());
    await node.run('memory_agent_register', { agent_id: LEAD.agentId, agent_type: 'ai:test' });
  });
  after(() => node.close());

  const said = async (operation: string, input: Fields, by: Caller): Promise<Fields> => {
    const answer = await node.call(operation, input, by);
    assert.ok(answer.ok, JSON.stringify(answer));
    return answer.value;
  };
  const codeOf = async (input: Fields, by = ANN) => {
    const answer = await node.call('memory_reflect', { ...SAID, ...input }, by);
    return answer.ok ? 'ok' : answer.error.code;
  };
  const store = async (namespace: string, by = ANN, more: Fields = {}): Promise<string> => {
    notes += 1;
    const input = { title: `note ${notes}`, content: `the text of note ${notes}`, namespace, ...more };
    return String((await said('memory_store', input, by))['id']);
  };
  const reflect = (ids: readonly string[], by = ANN, more: Fields = {}): Promise<Fields> => {
    notes += 1;
    return said('memory_reflect', { source_ids: ids, ...SAID, title: `thought ${notes}`, ...more }, by);
  };

  it('makes a reflection on a message private to its addressee, and never a message', async () => {
    const sent = { target_agent_id: 'ai:ann', title: 'secret', payload: 'the code is 7' };
    const message = String((await said('memory_notify', sent, BOB))['id']);
    assert.equal(await codeOf({ source_ids: [message] }), 'VALIDATION_FAILED');
    const { id } = await reflect([message], ANN, { namespace: 'team' });
    const answer = await node.call('memory_get', { id }, BOB);
    assert.equal(!answer.ok && answer.error.code, 'NOT_FOUND');
    for (const namespace of ['_agents', '_messages/ai:bob', '_shared/ai:ann->ai:bob', '_other'])
      assert.notEqual(await codeOf({ source_ids: [message], namespace }), 'ok', namespace);
  });

  it('takes no member that the service decides from metadata, and no depth from anywhere', async () => {
    const metadata = {
      attest_level: 'agent_attested',
      attested_by: 'x',
      reflection_metadata: { mine: true },
    };
    const { id } = await reflect([await store('team')], ANN, { metadata });
    const { memory } = await said('memory_get', { id }, ANN);
    const { reflection_depth, metadata: kept } = memory as Fields;
    const { attest_level, attested_by, reflection_metadata } = kept as Fields;
    assert.deepEqual([reflection_depth, attest_level, attested_by], [1, 'claimed', undefined]);
    assert.deepEqual(reflection_metadata, { mine: true });
    assert.equal(await codeOf({ source_ids: [id], reflection_depth: 0 }), 'UNKNOWN_FIELD');
  });

  it('has room for a hundred sources beside the largest metadata, and for no more', async () => {
    const ids: string[] = [];
    for (let at = 0; at < 100; at += 1) ids.push(await store('many'));
    const metadata = { text: 'x'.repeat(65_000) };
    const { reflects_on } = await reflect(ids, ANN, { metadata });
    assert.deepEqual(reflects_on, ids);
    assert.equal(await codeOf({ source_ids: [...ids, await store('many')] }), 'VALIDATION_FAILED');
  });

  it('waits again when a remembered approval was forgotten, and only at the gate of depths', async () => {
    const governance = { write: 'any', require_approval_above_depth: 0, approver: 'human' };
    await node.run('memory_namespace_set_standard', { namespace: 'kept', governance });
    const id = await store('kept');
    const waiting = await reflect([id]);
    await said('memory_pending_approve', { id: waiting['pending_id'], remember: 'forever' }, LEAD);
    assert.equal((await reflect([id]))['reflection_depth'], 1);
    const { remembered } = await node.run('pending_remembered', {});
    const [decision] = remembered as readonly Fields[];
    const { namespace, action_type, agent_id } = decision!;
    assert.deepEqual([namespace, action_type, agent_id], ['kept', 'reflect', 'ai:ann']);
    await node.run('pending_revoke', { namespace, action: action_type, agent: agent_id });
    assert.equal((await reflect([id]))['status'], 'pending');
  });

  it('asks once where both the write and the depth wait, and tells both numbers', async () => {
    const governance = { write: 'approve', require_approval_above_depth: 0, approver: 'human' };
    await node.run('memory_namespace_set_standard', { namespace: 'both', governance });
    const answer = await reflect([await store('team')], ANN, { namespace: 'both' });
    assert.deepEqual([answer['proposed_depth'], answer['require_approval_above_depth']], [1, 0]);
    await said('memory_pending_approve', { id: answer['pending_id'] }, LEAD);
    const { memory } = await said('memory_get', { id: answer['memory_id'] }, ANN);
    assert.equal((memory as Fields)['kind'], 'reflection');
  });

  it('does not wait for the approver that an agent chose where the operator wants another one', async () => {
    const governance = { write: 'any', require_approval_above_depth: 0, approver: 'human' };
    await node.run('memory_namespace_set_standard', { namespace: 'ours', governance });
    const own = {
      write: 'any',
      inherit: false,
      approver: { agent: 'ai:bob' },
      require_approval_above_depth: 9,
    };
    await said('memory_namespace_set_standard', { namespace: 'ours/own', governance: own }, ANN);
    const waiting = await reflect([await store('ours/own')]);
    assert.equal(waiting['status'], 'pending');
    const byFriend = await node.call('memory_pending_approve', { id: waiting['pending_id'] }, BOB);
    assert.ok(!byFriend.ok);
    await said('memory_pending_approve', { id: waiting['pending_id'] }, LEAD);
  });

  it('is done once when its call is repeated', async () => {
    const source_ids = [await store('twice')];
    const request = {
      ...({ surface: 'cli', unknownFields: 'refuse' } as const),
      ...{ caller: ANN, input: { source_ids, ...SAID }, key: 'k'.repeat(40) },
    };
    const first = await runOperation(memoryReflect, request, node.services);
    const again = await runOperation(memoryReflect, { ...request, again: true }, node.services);
    assert.ok(first.ok, JSON.stringify(first));
    assert.deepEqual(again, first);
    const { memories } = await said('memory_list', { namespace: 'twice' }, ANN);
    assert.equal((memories as unknown[]).length, 2);
  });
});

describe('the quotas of memory_reflect', { timeout: 60_000 }, () => {
  it('count the memory and each link, and refuse both together', async () => {
    const node = await openTestNode({ requireAttestation: false, maxLinksPerDay: 3, maxMemoriesPerDay: 5 });
    const call = async (name: string, input: Fields) => {
      const { OPERATIONS } = await import('../../node/operations/registry.js');
      const operation = OPERATIONS.find((known) => known.name === name)!;
      return runOperation(
        operation,
        { surface: 'cli', caller: ANN, input, unknownFields: 'refuse' },
        node.services,
      );
    };
    try {
      const ids: unknown[] = [];
      for (const title of ['a', 'b']) {
        const stored = await call('memory_store', { title, content: title, namespace: 'q' });
        assert.ok(stored.ok);
        ids.push(stored.value['id']);
      }
      const reflect = (title: string, source_ids: unknown) =>
        call('memory_reflect', { title, content: 'c', source_ids });
      assert.ok((await reflect('one', ids)).ok);
      const links = await reflect('two', ids);
      assert.deepEqual(!links.ok && [links.error.code, detailsOf(links.error, 'QUOTA_EXCEEDED')?.limit], [
        'QUOTA_EXCEEDED',
        'links_per_day',
      ]);
      assert.ok((await reflect('three', [ids[0]])).ok);
      const use = await call('memory_quota_status', { namespace: 'q' });
      assert.ok(use.ok);
      const { current_memories_today: today, current_links_today: linked } = use.value['quota'] as Fields;
      assert.deepEqual([today, linked], [4, 3]);
    } finally {
      await node.close();
    }
  });
});
