import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { OPERATIONS } from '../../../node/operations/registry.js';
import { HOOK_EVENT_NAMES, type HookEvent, UNFIRED_EVENTS } from '../../../protocol/hooks/events.js';
import { COMMANDS } from '../../../protocol/release.js';
import { PROJECT } from '../../architecture/source-files.js';
import { type Fields, type HookedNode, openHookedNode } from '../../support/hooked-node.js';
import { HookHome } from '../../support/hooks.js';
import { until } from '../../support/wait.js';

/** They are around the commands that policies gate, and belong to no operation. */
const OF_POLICIES: readonly HookEvent[] = ['pre_governance_decision', 'post_governance_decision'];
/** Asked by the jobs of the curator (test/curator). */
const OF_THE_CURATOR: readonly HookEvent[] = ['pre_compaction'];

/** Asked by the pipeline, about the answer of every read. */
const OF_ANSWERS: readonly HookEvent[] = ['pre_answer'];

describe('the 28 events', { timeout: 120_000 }, () => {
  const home = new HookHome();
  const hooks = new Map(HOOK_EVENT_NAMES.map((event) => [event, home.noting()]));
  let node: HookedNode;
  let one: unknown;
  let two: unknown;
  before(async () => {
    home.register(
      ...HOOK_EVENT_NAMES.map((event) => ({
        event,
        command: hooks.get(event)!.command,
        mode: 'exec' as const,
        timeout_ms: 20_000,
      })),
    );
    node = await openHookedNode(home);
    const store = async (title: string) =>
      (await node.run('memory_store', { title, content: 'the ferry leaves', namespace: 'team' }))['id'];
    [one, two] = [await store('one'), await store('two')];
  });
  after(() => node.close());

  const last = async (event: HookEvent, count = 1): Promise<Fields> => {
    await until(`${event} is told`, () => hooks.get(event)!.events().length >= count);
    const heard = hooks.get(event)!.events().at(-1)!;
    assert.equal(heard.event, event);
    return heard.payload;
  };

  it('are 28, and each is fired by an operation, told of a command, or waits for one', () => {
    assert.equal(HOOK_EVENT_NAMES.length, 28);
    const declared = OPERATIONS.flatMap(({ hooks: around }) => [
      ...(around?.pre ?? []).map(({ event }) => event),
      ...(around?.post ?? []).map(({ event }) => event),
    ]);
    const told = COMMANDS.all.flatMap(({ tells = {} }) => Object.keys(tells) as HookEvent[]);
    const fired = new Set([...declared, ...told, ...OF_POLICIES, ...OF_THE_CURATOR, ...OF_ANSWERS]);
    assert.deepEqual(
      HOOK_EVENT_NAMES.filter((event) => !fired.has(event)).toSorted(),
      Object.keys(UNFIRED_EVENTS).toSorted(),
    );
  });

  it('are those of the manual, which names the ones that nothing fires', () => {
    const manual = readFileSync(join(PROJECT, 'docs/hooks.md'), 'utf8');
    const [, said = ''] = /accepted and not fired yet,(.*?)\n\n/s.exec(manual) ?? [];
    const named = [...said.matchAll(/`(\w+)`/g)]
      .map(([, name]) => name!)
      .filter((name) => name.includes('_'));
    assert.deepEqual(
      named.filter((name) => HOOK_EVENT_NAMES.includes(name as HookEvent)).toSorted(),
      Object.keys(UNFIRED_EVENTS).toSorted(),
    );
  });

  it('tell of stores and changes', async () => {
    assert.equal((await last('pre_store', 2))['title'], 'two');
    const whole = await last('post_store', 2);
    for (const member of ['id', 'tier', 'namespace', 'title', 'content', 'created_at', 'version'])
      assert.notEqual(whole[member], undefined, member);
    await node.run('memory_update', { id: one, priority: 8 });
    assert.deepEqual(await last('pre_store', 3), { priority: 8 });
    assert.equal((await last('post_store', 3))['priority'], 8);
    await node.run('memory_entity_register', { canonical_name: 'Ada', namespace: 'people' });
    assert.equal((await last('pre_store', 4))['title'], 'Ada');
    assert.equal((await last('post_store', 4))['title'], 'Ada');
  });

  it('tell of decisions of policies', async () => {
    const asked = await last('pre_governance_decision');
    assert.deepEqual(Object.keys(asked).toSorted(), ['action', 'agent_id', 'memory_id', 'namespace']);
    await node.run('memory_namespace_set_standard', {
      namespace: 'asked',
      governance: { write: 'approve', approver: 'human' },
    });
    const told = () => hooks.get('post_governance_decision')!.events().length;
    await until('the decisions so far are told', () => {
      return told() === hooks.get('pre_governance_decision')!.events().length;
    });
    const count = told();
    const stored = await node.call(
      'memory_store',
      { title: 'waits', content: 'x', namespace: 'asked' },
      {
        agentId: 'ai:me',
        claimed: 'explicit',
        viewer: { all: false, agentId: 'ai:me', asNamespace: null },
        admin: false,
        local: true,
      },
    );
    assert.ok(stored.ok, JSON.stringify(stored));
    const { pending_id: pending } = stored.value;
    assert.deepEqual(await last('post_governance_decision', count + 1), {
      ...{ namespace: 'asked', action: 'store', agent_id: 'ai:me', outcome: 'ask' },
      ...{ reason: 'governance requires approval', pending_id: pending },
    });
    assert.equal(
      hooks
        .get('post_store')!
        .events()
        .some(({ payload }) => payload['title'] === 'waits'),
      false,
    );
  });

  it('tell of messages and shared copies', async () => {
    const count = () => hooks.get('pre_store')!.events().length;
    const before = count();
    const sent = { target_agent_id: 'ai:b', title: 'hello', payload: 'a text' };
    await node.run('memory_notify', sent);
    const message = await last('pre_store', before + 1);
    assert.deepEqual([message['namespace'], message['content']], ['_messages/ai:b', 'a text']);
    await node.run('memory_share', { source_memory_id: two, target_agent_id: 'ai:b' });
    const copy = await last('pre_store', before + 2);
    assert.match(String(copy['namespace']), /^_shared\/.*->ai:b$/);
    assert.equal(copy['content'], 'the ferry leaves');
  });

  it('tell of signals before they are sent, and of the first acknowledgement', async () => {
    const more = { to_agent: 'ai:hooked', body: { at: 7 }, signal_type: 'request', correlation_id: 'c' };
    const sent = await node.run('memory_signal_send', { namespace: 'team', subject: 'ready', ...more });
    assert.deepEqual(await last('pre_signal_send'), {
      ...{ namespace: 'team', subject: 'ready', in_reply_to: null, reference_ids: [], ...more },
    });
    for (const acknowledged of [true, false])
      assert.deepEqual(await node.run('memory_signal_ack', { id: sent['id'] }), { acknowledged });
    const { acknowledged_at, ...told } = await last('post_signal_ack');
    assert.equal(typeof acknowledged_at, 'number');
    assert.deepEqual(told, {
      ...{ id: sent['id'], namespace: 'team', from_agent: 'ai:hooked', to_agent: 'ai:hooked' },
      ...{ subject: 'ready', signal_type: 'request' },
    });
    assert.equal(hooks.get('post_signal_ack')!.events().length, 1);
  });

  it('tell of recalls and searches', async () => {
    await node.run('memory_recall', { context: 'ferry', namespace: 'team', budget_tokens: 500 });
    assert.deepEqual(await last('pre_recall'), { query: 'ferry', namespace: 'team', budget_tokens: 500 });
    const recalled = await last('post_recall');
    assert.equal(recalled['query'], 'ferry');
    assert.equal((recalled['memories'] as Fields[]).length, 2);
    assert.ok(Number(recalled['tokens_used']) > 0);
    await node.run('memory_search', { query: 'ferry', namespace: 'team', limit: 5 });
    assert.deepEqual(await last('pre_search'), { query: 'ferry', namespace: 'team', limit: 5 });
    assert.equal(((await last('post_search'))['memories'] as Fields[]).length, 2);
  });

  it('tell of links, promotions, consolidations, archivings and deletions', async () => {
    await node.run('memory_link', { source_id: one, target_id: two, relation: 'depends_on' });
    const link = { source_id: one, target_id: two, relation: 'depends_on' };
    assert.deepEqual(await last('pre_link'), link);
    const { source_id, target_id, relation, valid_from } = await last('post_link');
    assert.deepEqual({ source_id, target_id, relation }, link);
    assert.equal(typeof valid_from, 'string');
    await node.run('memory_promote', { id: one });
    const promotion = { id: one, from_tier: 'mid', to_tier: 'long' };
    assert.deepEqual(await last('pre_promote'), promotion);
    assert.deepEqual(await last('post_promote'), promotion);
    const joined = await node.run('memory_consolidate', {
      ids: [one, two],
      title: 'both',
      namespace: 'team',
    });
    assert.deepEqual(await last('pre_consolidate'), { namespace: 'team', candidate_ids: [one, two] });
    assert.deepEqual(await last('post_consolidate'), {
      ...{ namespace: 'team', merged_ids: [one, two], result_id: joined['id'] },
    });
    const third = (await node.run('memory_store', { title: 'third', content: 'x' }))['id'];
    await node.run('memory_archive', { ids: [third] });
    assert.deepEqual(await last('pre_archive'), { id: third });
    await node.run('memory_delete', { id: joined['id'] });
    assert.deepEqual(await last('pre_delete'), { id: joined['id'] });
    assert.deepEqual(await last('post_delete'), { id: joined['id'] });
  });

  it('tell of reflections', async () => {
    const id = (await node.run('memory_store', { title: 'seen twice', content: 'x', namespace: 'team' }))[
      'id'
    ];
    const said = { title: 'what follows', content: 'it is a habit', tags: ['habit'] };
    const answer = await node.run('memory_reflect', { source_ids: [id], ...said });
    assert.deepEqual(await last('pre_reflect'), {
      ...{ tier: 'mid', namespace: 'team', ...said, priority: 5, confidence: 1, metadata: {} },
    });
    assert.deepEqual(await last('post_reflect'), answer);
  });

  it('tell of each group that auto-consolidate joins', async () => {
    const ids: unknown[] = [];
    for (const title of ['a', 'b', 'c']) {
      const tagged = { title, content: `about ${title}`, namespace: 'groups', tags: ['same'] };
      ids.push((await node.run('memory_store', tagged))['id']);
    }
    await node.run('memory_auto_consolidate', { namespace: 'groups' });
    const asked = await last('pre_consolidate', 2);
    assert.equal(asked['namespace'], 'groups');
    assert.deepEqual((asked['candidate_ids'] as unknown[]).toSorted(), ids.toSorted());
    assert.equal((await last('post_consolidate', 2))['namespace'], 'groups');
  });

  it('tell nothing of commands that no call gives', async () => {
    const before = hooks.get('post_delete')!.events().length;
    const ids: string[] = [];
    for (const title of ['by upkeep', 'by a call'])
      ids.push(String((await node.run('memory_store', { title, content: 'goes', namespace: 'team' }))['id']));
    const [byNode, byCall] = ids;
    const viewer = { all: true, agentId: null, asNamespace: null };
    const command = { kind: 'delete-memory', id: byNode!, archive: true, viewer } as const;
    assert.ok((await node.services.store.execute(command)).ok);
    await node.run('memory_delete', { id: byCall });
    assert.deepEqual(await last('post_delete', before + 1), { id: byCall });
    assert.equal(hooks.get('post_delete')!.events().length, before + 1);
    const stored = hooks.get('post_store')!.events();
    assert.ok(!stored.some(({ payload }) => String(payload['title']).startsWith('Consolidated:')));
  });

  it('tell nothing of calls that fail', async () => {
    const { length: count } = hooks.get('post_delete')!.events();
    await node.refused('memory_delete', { id: 'no-such-id' });
    await node.refused('memory_store', { title: ' ', content: 'x' });
    await node.run('memory_store', { title: 'last', content: 'x' });
    await until('the last store is told', () =>
      hooks
        .get('post_store')!
        .events()
        .some(({ payload }) => payload['title'] === 'last'),
    );
    assert.equal(hooks.get('post_delete')!.events().length, count);
  });
});
