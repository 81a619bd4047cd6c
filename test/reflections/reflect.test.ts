import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { NO_HOOKS } from '../../actors/hooks/hooks.js';
import type { Caller } from '../../node/identity/caller.js';
import { memoryReflect } from '../../node/operations/reflections/memory-reflect.js';
import { writeReflection } from '../../node/operations/reflections/new-reflection.js';
import type { Call } from '../../node/pipeline/call.js';
import type { Operation } from '../../node/pipeline/operation.js';
import { runOperation } from '../../node/pipeline/pipeline.js';
import { fail } from '../../protocol/base/result.js';
import { CALLER, type Fields, type HookedNode, openHookedNode } from '../support/hooked-node.js';
import { HookHome } from '../support/hooks.js';
import { until } from '../support/wait.js';

const RULE = `[[permissions.rules]]
namespace_pattern = "unlinked/**"
op = "memory_link"
agent_pattern = "ai:ann"
decision = "deny"
`;

const caller = (agentId: string): Caller => ({
  ...{ agentId, claimed: 'explicit', admin: false, local: true },
  viewer: { all: false, agentId, asNamespace: null },
});
const [ANN, BOB, LEAD] = [caller('ai:ann'), caller('ai:bob'), caller('ai:lead')];
const SAID = { title: 'what follows', content: 'both outages were on a Sunday' };

describe('memory_reflect', { timeout: 120_000 }, () => {
  const home = new HookHome();
  let node: HookedNode;
  let notes = 0;
  before(async () => {
    writeFileSync(join(home.home, 'config.toml'), RULE, { mode: 0o600 });
    node = await openHookedNode(home);
    await node.run('memory_agent_register', { agent_id: LEAD.agentId, agent_type: 'ai:test' });
  });
  after(() => node.close());

  const said = async (operation: string, input: Fields, by: Caller): Promise<Fields> => {
    const answer = await node.call(operation, input, by);
    assert.ok(answer.ok, JSON.stringify(answer));
    return answer.value;
  };
  const refused = async (operation: string, input: Fields, by: Caller) => {
    const answer = await node.call(operation, input, by);
    assert.ok(!answer.ok, JSON.stringify(answer));
    return answer.error;
  };
  const store = async (namespace: string, by = ANN, more: Fields = {}): Promise<string> => {
    notes += 1;
    const input = { title: `note ${notes}`, content: `the text of note ${notes}`, namespace, ...more };
    return String((await said('memory_store', input, by))['id']);
  };
  const reflect = async (ids: readonly string[], by = ANN, more: Fields = {}): Promise<Fields> => {
    notes += 1;
    return said('memory_reflect', { source_ids: ids, ...SAID, title: `thought ${notes}`, ...more }, by);
  };
  const got = async (id: unknown, by: Caller) => (await said('memory_get', { id }, by))['memory'] as Fields;
  const count = async (namespace: string) =>
    ((await said('memory_list', { namespace }, ANN))['memories'] as readonly Fields[]).length;
  const audited = async (type: string) => {
    const found = await node.services.store.query({ kind: 'audit-rows', after: 0, limit: 10_000 });
    assert.ok(found.ok);
    return found.value.rows.filter(({ event_type }) => event_type === type);
  };

  it('stores a reflection in the namespace of its first source, with a signed link to each', async () => {
    const [one, two] = [await store('team'), await store('other')];
    const answer = await reflect([one, two], ANN, { tags: ['sunday'], entity_id: 'cluster', depth: 1 });
    const id = String(answer['id']);
    assert.deepEqual(answer, { id, reflection_depth: 1, reflects_on: [one, two], namespace: 'team' });
    const memory = await got(id, BOB);
    assert.deepEqual(
      ['kind', 'tier', 'reflection_depth', 'source', 'tags', 'mentioned_entity_id'].map(
        (name) => memory[name],
      ),
      ['reflection', 'mid', 1, 'nhi', ['sunday'], 'cluster'],
    );
    const { reflection_metadata: said_of, entity_id, agent_id, scope } = memory['metadata'] as Fields;
    const { reflection_created_at: at, ...rest } = said_of as Fields;
    assert.equal(typeof at, 'string');
    assert.deepEqual(rest, { reflected_on_source_ids: [one, two], reflection_depth: 1 });
    assert.deepEqual([entity_id, agent_id, scope], ['cluster', 'ai:ann', undefined]);
    const { links } = await said('memory_get_links', { id }, BOB);
    assert.deepEqual(
      (links as readonly Fields[])
        .map(({ target_id, relation, attest_level }) => [target_id, relation, attest_level])
        .toSorted(),
      [one, two].map((target) => [target, 'reflects_on', 'self_signed']).toSorted(),
    );
    const [record, ...more] = await audited('memory.reflected');
    assert.deepEqual([record?.agent_id, more.length], ['ai:ann', 0]);
  });

  it('is one deeper than its deepest source, and refused beyond 3, which is recorded and charged', async () => {
    const note = await store('deep');
    let last = note;
    for (const depth of [1, 2, 3]) {
      const { id, reflection_depth } = await reflect(last === note ? [note] : [note, last]);
      assert.equal(reflection_depth, depth);
      last = String(id);
    }
    const before = await count('deep');
    const used = async () => {
      const { quota } = await said('memory_quota_status', { namespace: 'deep' }, ANN);
      return Number((quota as Fields)['current_memories_today']);
    };
    const today = await used();
    assert.equal(today, 4);
    const error = await refused('memory_reflect', { source_ids: [last], ...SAID, namespace: 'deep' }, ANN);
    assert.equal(error.code, 'REFLECTION_DEPTH_EXCEEDED');
    assert.deepEqual(error.details, { attempted: 4, cap: 3, namespace: 'deep' });
    assert.equal(await count('deep'), before);
    assert.equal((await audited('reflection.depth_exceeded')).length, 1);
    assert.equal(await used(), today + 1);
    assert.equal((await audited('reflection.depth_exceeded.cross_peer')).length, 0);
  });

  it('is as deep as policies say: none for 0, and no agent allows itself more than the operator', async () => {
    await node.run('memory_namespace_set_standard', {
      namespace: 'capped',
      governance: { write: 'any', max_reflection_depth: 1 },
    });
    const governance = { write: 'any', inherit: false, max_reflection_depth: 9 };
    await said('memory_namespace_set_standard', { namespace: 'capped/own', governance }, ANN);
    const first = await reflect([await store('capped/own')]);
    const input = { source_ids: [first['id']], ...SAID };
    const { details } = await refused('memory_reflect', input, ANN);
    assert.deepEqual(details, { attempted: 2, cap: 1, namespace: 'capped/own' });
    await node.run('memory_namespace_set_standard', {
      namespace: 'off',
      governance: { write: 'any', max_reflection_depth: 0 },
    });
    const none = await refused('memory_reflect', { source_ids: [await store('off')], ...SAID }, ANN);
    assert.deepEqual(none.details, { attempted: 1, cap: 0, namespace: 'off' });
  });

  it('refuses another depth than the caller says', async () => {
    const input = { source_ids: [await store('team')], ...SAID, depth: 2 };
    const error = await refused('memory_reflect', input, ANN);
    assert.equal(error.code, 'CALLER_DEPTH_MISMATCH');
    assert.deepEqual(error.details, { depth: 1, caller_depth: 2 });
  });

  it('refuses sources that are not there, not seen, not named or named twice, and stores nothing', async () => {
    const own = await store('refusals');
    const secret = await store('refusals', BOB, { scope: 'private' });
    const message = async (source_ids: readonly string[]) => {
      const error = await refused('memory_reflect', { source_ids, ...SAID }, ANN);
      return [error.code, error.message];
    };
    assert.deepEqual(await message([own, secret]), ['NOT_FOUND', `source memory not found: ${secret}`]);
    assert.deepEqual(await message(['no-such']), ['NOT_FOUND', 'source memory not found: no-such']);
    assert.equal((await message([own, own]))[0], 'VALIDATION_FAILED');
    assert.equal((await message([own, own.slice(0, 12)]))[0], 'VALIDATION_FAILED');
    assert.equal((await message([]))[0], 'VALIDATION_FAILED');
    const many = Array.from({ length: 101 }, (_, at) => `id-${at}`);
    assert.equal((await message(many))[0], 'VALIDATION_FAILED');
    assert.equal(await count('refusals'), 1);
  });

  it('refuses a taken title', async () => {
    const id = await store('titles', BOB, { title: SAID.title });
    const error = await refused('memory_reflect', { source_ids: [id], ...SAID }, ANN);
    assert.deepEqual([error.code, error.details], ['CONFLICT', { existing_id: id }]);
  });

  it('is seen by no more agents than its sources, unless its writer says so', async () => {
    const secret = await store('scopes', ANN, { scope: 'private' });
    const open = await store('scopes');
    const hidden = await reflect([open, secret]);
    assert.equal((await refused('memory_get', { id: hidden['id'] }, BOB)).code, 'NOT_FOUND');
    assert.equal((await got(hidden['id'], ANN))['id'], hidden['id']);
    const shown = await reflect([open, secret], ANN, { metadata: { scope: 'collective' } });
    assert.equal((await got(shown['id'], BOB))['id'], shown['id']);
  });

  it('leaves alone who writes: no caller reflects for another', async () => {
    const source_ids = [await store('team')];
    const input = { source_ids, ...SAID, metadata: { agent_id: 'ai:bob' } };
    assert.equal((await refused('memory_reflect', input, ANN)).code, 'FORBIDDEN');
  });

  it('passes the rules about links at the namespaces of its sources', async () => {
    const id = await store('unlinked/x', BOB);
    const error = await refused('memory_reflect', { source_ids: [id], ...SAID, namespace: 'team' }, ANN);
    assert.equal(error.code, 'GOVERNANCE_REFUSED');
    await reflect([id], BOB, { namespace: 'team' });
  });

  it('waits for an approval above the depth that a policy says, and is then written as it was asked', async () => {
    await node.run('memory_namespace_set_standard', {
      namespace: 'gated',
      governance: { write: 'any', require_approval_above_depth: 1, approver: 'human' },
    });
    const first = await reflect([await store('gated')]);
    assert.equal(first['reflection_depth'], 1);
    const before = await count('gated');
    const waiting = await reflect([String(first['id'])]);
    const { pending_id: pending, memory_id, ...answer } = waiting;
    assert.deepEqual(answer, {
      ...{ status: 'pending', reason: 'governance requires approval', action: 'reflect', namespace: 'gated' },
      ...{ proposed_depth: 2, require_approval_above_depth: 1 },
    });
    assert.equal(await count('gated'), before);
    const { pending: rows } = await said('memory_pending_list', {}, LEAD);
    const row = (rows as readonly Fields[]).find(({ id }) => id === pending);
    const payload = row?.['payload'] as Fields;
    assert.deepEqual([row?.['action_type'], payload['source_ids']], ['reflect', [first['id']]]);
    await said('memory_pending_approve', { id: pending }, LEAD);
    const stored = await got(memory_id, ANN);
    assert.deepEqual([stored['reflection_depth'], stored['kind']], [2, 'reflection']);
  });

  it('is not executed after an approval when a source has changed, or the depth was capped', async () => {
    const first = String((await reflect([await store('gated')]))['id']);
    const changed = await reflect([first]);
    await said('memory_update', { id: first, content: 'another text' }, ANN);
    const late = await refused('memory_pending_approve', { id: changed['pending_id'] }, LEAD);
    assert.equal(late.code, 'VERSION_CONFLICT');
    const capped = await reflect([first]);
    await node.run('memory_namespace_set_standard', {
      namespace: 'gated',
      governance: { max_reflection_depth: 1 },
    });
    const error = await refused('memory_pending_approve', { id: capped['pending_id'] }, LEAD);
    assert.equal(error.code, 'REFLECTION_DEPTH_EXCEEDED');
    await node.run('memory_namespace_set_standard', {
      namespace: 'gated',
      governance: { max_reflection_depth: null },
    });
  });

  it('shows a waiting reflection to no approver who does not see a source of it', async () => {
    const secret = await store('gated', ANN, { scope: 'private' });
    const first = await reflect([secret], ANN, { metadata: { scope: 'collective' } });
    const waiting = await reflect([String(first['id']), secret], ANN, { metadata: { scope: 'collective' } });
    const { pending } = await said('memory_pending_list', {}, LEAD);
    const row = (pending as readonly Fields[]).find(({ id }) => id === waiting['pending_id']);
    assert.ok(row !== undefined);
    assert.ok(!JSON.stringify(row).includes(SAID.content), JSON.stringify(row));
  });
});

describe('the hooks of memory_reflect', { timeout: 120_000 }, () => {
  const home = new HookHome();
  const told = { pre_reflect: home.noting(), post_reflect: home.noting(), post_store: home.noting() };
  const denying = home.noting('{"action":"deny","reason":"not on Sundays","code":451}');
  let node: HookedNode;
  let source: string;
  before(async () => {
    const entry = { mode: 'exec' as const, timeout_ms: 20_000 };
    home.register(
      ...Object.entries(told).map(([event, { command }]) => ({
        event: event as 'pre_reflect',
        command,
        ...entry,
      })),
      { event: 'pre_reflect', command: denying.command, namespace: 'denied', ...entry },
    );
    node = await openHookedNode(home);
    source = String(
      (await node.run('memory_store', { title: 'one', content: 'x', namespace: 'team' }))['id'],
    );
  });
  after(() => node.close());

  it('hear it before and after, and deny it', async () => {
    const answer = await node.run('memory_reflect', { source_ids: [source], ...SAID });
    const [asked] = told.pre_reflect.events();
    assert.deepEqual(asked?.payload, {
      ...{ tier: 'mid', namespace: 'team', ...SAID, tags: [], priority: 5, confidence: 1, metadata: {} },
    });
    await until('it is told', () => told.post_reflect.events().length === 1);
    assert.deepEqual(told.post_reflect.events()[0]?.payload, answer);
    await until('the memory is told', () => told.post_store.events().length === 2);
    const input = { source_ids: [source], ...SAID, namespace: 'denied' };
    assert.equal((await node.refused('memory_reflect', input)).code, 'HOOK_VETO');
    assert.equal(told.post_reflect.events().length, 1);
  });

  it('hear of one that the node itself writes, decide about it and rewrite nothing', async () => {
    const call = await callOf(node);
    const written = { ...SAID, title: 'by the node', source_ids: [source], tier: 'mid', tags: [] } as const;
    const given = { ...written, priority: 5, confidence: 1, metadata: {}, source: 'system' } as const;
    const heard = told.pre_reflect.events().length;
    const stored = await writeReflection(call, given);
    assert.ok(stored.ok, JSON.stringify(stored));
    assert.equal(stored.value.stored.reflection_depth, 1);
    assert.equal(told.pre_reflect.events().length, heard + 1);
    const { memory } = await node.run('memory_get', { id: stored.value.stored.id });
    assert.deepEqual([(memory as Fields)['source'], (memory as Fields)['kind']], ['system', 'reflection']);
    const vetoed = await writeReflection(call, { ...given, title: 'denied', namespace: 'denied' });
    assert.equal(!vetoed.ok && vetoed.error.code, 'HOOK_VETO');
    const hidden = await writeReflection(call, { ...given, source_ids: ['no-such'] });
    assert.equal(!hidden.ok && hidden.error.code, 'NOT_FOUND');
  });
});

/** A call of an operation that writes, as the pipeline makes it. */
async function callOf(node: HookedNode): Promise<Call> {
  const calls: Call[] = [];
  const probe: Operation = {
    ...memoryReflect,
    run: (call) => {
      calls.push(call as Call);
      return Promise.resolve(fail('CONFLICT', 'only the call is wanted'));
    },
  };
  const request = { surface: 'cli', caller: CALLER, unknownFields: 'refuse' } as const;
  const quiet = { ...node.services, hooks: NO_HOOKS };
  await runOperation(probe, { ...request, input: { source_ids: ['probe'], ...SAID } }, quiet);
  const [call] = calls;
  assert.ok(call !== undefined);
  return { ...call, services: { ...call.services, hooks: node.services.hooks } };
}
