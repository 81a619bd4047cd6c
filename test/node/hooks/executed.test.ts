import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Caller } from '../../../node/identity/caller.js';
import { type Fields, type HookedNode, openHookedNode } from '../../support/hooked-node.js';
import { HookHome, type NotedEvent } from '../../support/hooks.js';
import { until } from '../../support/wait.js';

const EVENTS = ['post_store', 'post_delete', 'post_promote', 'post_consolidate', 'post_link'] as const;

const RULE = `[[permissions.rules]]
namespace_pattern = "ask/**"
op = "memory_link"
agent_pattern = "*"
decision = "ask"
`;

const caller = (agentId: string): Caller => ({
  ...{ agentId, claimed: 'explicit', admin: false, local: true },
  viewer: { all: false, agentId, asNamespace: null },
});
const [CODER, LEAD, SECOND] = [caller('ai:coder'), caller('ai:lead'), caller('ai:second')];

/** An action that waits, what it is asked with, and what hooks hear once it is executed. */
interface Case {
  readonly operation: string;
  readonly input: (ids: readonly string[]) => Fields;
  readonly heard: (ids: readonly string[], pending: Fields) => readonly (readonly [string, Fields])[];
}

const CASES: Readonly<Record<string, Case>> = {
  'a store': {
    operation: 'memory_store',
    input: () => ({ title: 'asked for', content: 'text of it', namespace: 'ask/x' }),
    heard: (_ids, { memory_id: id }) => [
      ['post_store', { id, title: 'asked for', content: 'text of it', version: 1 }],
    ],
  },
  'a store that merges into another memory': {
    operation: 'memory_store',
    input: () => ({ title: 'note 0', content: 'merged', namespace: 'ask/x', on_conflict: 'merge' }),
    heard: ([id]) => [['post_store', { id, title: 'note 0', content: 'merged' }]],
  },
  'a change': {
    operation: 'memory_update',
    input: ([id]) => ({ id, priority: 9 }),
    heard: ([id]) => [['post_store', { id, priority: 9 }]],
  },
  'a change by a model, under another id': {
    operation: 'memory_update',
    input: ([, , , , , id]) => ({ id, content: 'by a model', edit_source: 'llm' }),
    heard: () => [['post_store', { title: 'note 5', content: 'by a model', version: 1 }]],
  },
  'an entity': {
    operation: 'memory_entity_register',
    input: () => ({ canonical_name: 'Ada', namespace: 'ask/x' }),
    heard: () => [['post_store', { title: 'Ada', namespace: 'ask/x' }]],
  },
  'a promotion': {
    operation: 'memory_promote',
    input: ([, id]) => ({ id }),
    heard: ([, id]) => [['post_promote', { id, from_tier: 'mid', to_tier: 'long' }]],
  },
  'a clone in the namespace above': {
    operation: 'memory_promote',
    input: ([, id]) => ({ id, to_namespace: 'ask' }),
    heard: ([, id]) => [
      ['post_promote', { id, from_tier: 'long', to_tier: 'long' }],
      ['post_store', { title: 'note 1', namespace: 'ask' }],
    ],
  },
  'a consolidation': {
    operation: 'memory_consolidate',
    input: ([, , a, b]) => ({ ids: [a, b], title: 'both', namespace: 'ask/x' }),
    heard: ([, , a, b], { memory_id: id }) => [
      ['post_store', { id, title: 'both' }],
      ['post_consolidate', { namespace: 'ask/x', merged_ids: [a, b], result_id: id }],
    ],
  },
  'a deletion': {
    operation: 'memory_delete',
    input: ([, , , , id]) => ({ id }),
    heard: ([, , , , id]) => [['post_delete', { id }]],
  },
};

describe('hooks after an action that waited for its approval', { timeout: 120_000 }, () => {
  const home = new HookHome();
  const hook = home.noting();
  let node: HookedNode;
  const ids: string[] = [];
  const said = async (operation: string, input: Fields, by: Caller): Promise<Fields> => {
    const answer = await node.call(operation, input, by);
    assert.ok(answer.ok, JSON.stringify(answer));
    return answer.value;
  };
  before(async () => {
    // Hooks of one namespace and those below it, so that the namespace of each event counts too.
    home.register(
      ...EVENTS.map((event) => ({ event, command: hook.command, namespace: 'ask/**', timeout_ms: 20_000 })),
      ...EVENTS.map((event) => ({ event, command: hook.command, namespace: 'ask', timeout_ms: 20_000 })),
    );
    writeFileSync(join(home.home, 'config.toml'), RULE, { mode: 0o600 });
    node = await openHookedNode(home);
    for (const { agentId: agent_id } of [LEAD, SECOND])
      await node.run('memory_agent_register', { agent_id, agent_type: 'ai:test' });
    for (let n = 0; n < 6; n += 1) {
      const stored = { title: `note ${n}`, content: `words of ${n}`, namespace: 'ask/x' };
      ids.push(String((await said('memory_store', stored, CODER))['id']));
    }
    await until('the stores are told', () => hook.events().length === ids.length);
    await node.run('memory_namespace_set_standard', {
      namespace: 'ask',
      governance: { write: 'approve', promote: 'approve', delete: 'approve', approver: { consensus: 2 } },
    });
  });
  after(() => node.close());

  /** What was told since a call of this; an event that is too many would come before one that is told after it. */
  const toldSince = async (count: number, expected: number): Promise<readonly NotedEvent[]> => {
    await until(`${expected} events are told`, () => hook.events().length >= count + expected);
    return hook.events().slice(count);
  };

  for (const [name, { operation, input, heard }] of Object.entries(CASES)) {
    it(`hear of ${name} once, when the last vote executes it`, async () => {
      const { length: count } = hook.events();
      const waits = await said(operation, input(ids), CODER);
      assert.equal(waits['status'], 'pending', JSON.stringify(waits));
      const { pending_id: id } = waits;
      const first = await said('memory_pending_approve', { id }, SECOND);
      assert.equal(first['approved'], false);
      assert.deepEqual(hook.events().slice(count), [], 'nothing was done yet');
      const last = await said('memory_pending_approve', { id }, LEAD);
      assert.deepEqual([last['approved'], 'command' in last], [true, false]);
      const expected = heard(ids, last);
      const told = await toldSince(count, expected.length);
      assert.deepEqual(
        told.map(({ event }) => event).toSorted(),
        expected.map(([event]) => event).toSorted(),
      );
      for (const [event, members] of expected) {
        const { payload } = told.find((one) => one.event === event)!;
        for (const [member, value] of Object.entries(members))
          assert.deepEqual(payload[member], value, `${event} ${member}`);
      }
    });
  }

  it('hear of a link that a permission rule made wait', async () => {
    const { length: count } = hook.events();
    const [source_id, target_id] = [ids[0]!, ids[1]!];
    const waits = await said('memory_link', { source_id, target_id, relation: 'depends_on' }, CODER);
    assert.equal(waits['status'], 'pending', JSON.stringify(waits));
    for (const by of [SECOND, LEAD]) await said('memory_pending_approve', { id: waits['pending_id'] }, by);
    const [told] = await toldSince(count, 1);
    const { created, relation, attest_level, ...ends } = told!.payload;
    assert.deepEqual([told!.event, created, relation], ['post_link', true, 'depends_on']);
    assert.deepEqual([ends['source_id'], ends['target_id']], [source_id, target_id]);
    assert.equal(attest_level, 'self_signed');
  });

  it('hear nothing of an action that is denied, or approved a second time', async () => {
    const { length: count } = hook.events();
    const asked = (title: string) => ({ title, content: 'x', namespace: 'ask/x' });
    const { pending_id: denied } = await said('memory_store', asked('denied'), CODER);
    await said('memory_pending_reject', { id: denied }, LEAD);
    const { pending_id: id } = await said('memory_store', asked('approved'), CODER);
    await said('memory_pending_approve', { id }, SECOND);
    await said('memory_pending_approve', { id }, LEAD);
    const again = await node.call('memory_pending_approve', { id }, SECOND);
    assert.equal(again.ok ? '' : again.error.code, 'PENDING_ACTION_STATE_INVALID');
    const settled = await node.services.store.execute({ kind: 'settle-pending', pendingId: String(id) });
    assert.ok(settled.ok && settled.value.pending.status === 'approved');
    assert.ok(!('executed' in settled.value));
    const { pending_id: last } = await said('memory_store', asked('last'), CODER);
    for (const by of [SECOND, LEAD]) await said('memory_pending_approve', { id: last }, by);
    const told = await toldSince(count, 2);
    assert.deepEqual(told.map(({ payload }) => payload['title']).toSorted(), ['approved', 'last']);
  });
});
