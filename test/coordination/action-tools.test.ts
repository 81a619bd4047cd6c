import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Services } from '../../node/pipeline/call.js';
import type { FindRecords } from '../../protocol/kinds/find.js';
import type { Query } from '../../protocol/release.js';
import { replica, verified } from '../support/replicas.js';
import { creating, done, OTHER, START_MS } from './coordination.js';
import {
  agent,
  type CoordinationNode,
  type Fields,
  openCoordinationNode,
  type Session,
  sessionOf,
} from './coordination-node.js';

const actionById = (id: unknown): FindRecords => ({
  ...{ kind: 'find-records', of: 'action', where: { action_id: String(id) }, limit: 1 },
  ...{ viewer: null, now: '2026-01-01T00:00:00.000Z' },
});

describe('the tools of actions', () => {
  let node: CoordinationNode;
  let alice: Session;
  let bob: Session;
  before(async () => {
    node = await openCoordinationNode();
    [alice, bob] = [node.as('ai:alice'), node.as('ai:bob')];
  });
  after(() => node.close());

  const create = async (more: Fields = {}, by = alice) => {
    const wanted = { namespace: 'team', kind: 'build', title: 'build it', ...more };
    return (await by.run('memory_action_create', wanted))['action'] as Fields;
  };
  const move = (by: Session, id: unknown, to: string, more: Fields = {}) =>
    by.run('memory_action_transition', { id, to, ...more });

  it('answer the members of the reference', async () => {
    const action = await create({ payload: ['x', { y: 1 }], priority: 2, metadata: { m: 1 } });
    const { id, created_at, updated_at, ...rest } = action;
    assert.ok(Number.isInteger(created_at) && updated_at === created_at);
    assert.deepEqual(rest, {
      ...{ namespace: 'team', kind: 'build', state: 'pending', title: 'build it', priority: 2 },
      ...{ payload: ['x', { y: 1 }], agent_id: null, created_by: 'ai:alice', claimed_by: null },
      ...{ vector_clock: {}, metadata: { m: 1 } },
    });
    const { action: claimed } = await move(bob, id, 'claimed');
    assert.equal((claimed as Fields)['claimed_by'], 'ai:bob');
    const shown = await alice.run('memory_action_get', { id });
    assert.deepEqual([shown['action'], shown['blocked_by']], [claimed, []]);
    const { nonce, created_at: at, signature, signer_pubkey, ...last } = shown['last_transition'] as Fields;
    assert.deepEqual(last, {
      ...{ from_state: 'pending', to_state: 'claimed', moved_by: 'ai:bob', claimed_by: 'ai:bob' },
      verified: true,
    });
    assert.ok([nonce, signature, signer_pubkey].every((text) => typeof text === 'string'));
    assert.ok(Number.isInteger(at));
    assert.deepEqual(await alice.run('memory_action_get', { id: 'nothing' }), { action: null });
  });

  it('refuse what is missing, wrong, or in the name of another', async () => {
    const wanted = { namespace: 'team', kind: 'build', title: 'build it' };
    const wrong: readonly Fields[] = [
      ...[{ namespace: '' }, { namespace: '_agents' }, { kind: '' }, { title: ' ' }, { priority: 0.5 }],
      ...[{ metadata: [] }, { payload: 'x'.repeat(70_000) }, { metadata: { x: 'x'.repeat(70_000) } }],
    ];
    for (const fields of wrong) {
      const { code, details } = await alice.refused('memory_action_create', { ...wanted, ...fields });
      assert.equal(code, 'VALIDATION_FAILED', JSON.stringify(fields).slice(0, 80));
      const [named] = (details as unknown as { fields: string[] }).fields;
      assert.equal(named?.split('.')[0], Object.keys(fields)[0]);
    }
    const { id } = await create();
    const state = await alice.refused('memory_action_transition', { id, to: 'finished' });
    assert.match(state.message, /invalid action state: finished/);
    const other = await alice.refused('memory_action_transition', {
      id,
      to: 'claimed',
      claimed_by: 'ai:bob',
    });
    assert.equal(other.code, 'FORBIDDEN');
    const edge = { from_action: id, to_action: id, edge_type: 'likes' };
    assert.match((await alice.refused('memory_action_add_edge', edge)).message, /invalid edge_type: likes/);
    const list = await alice.refused('memory_action_list', { state: 'finished' });
    assert.match(list.message, /invalid action state: finished/);
  });

  it('let the operator act for another agent', async () => {
    const { id } = await create();
    const moved = await move(node.operator, id, 'claimed', { claimed_by: 'ai:bob' });
    assert.equal((moved['action'] as Fields)['claimed_by'], 'ai:bob');
    const lease = await node.operator.run('memory_lease_acquire', { action_id: id, holder: 'ai:bob' });
    assert.equal((lease['lease'] as Fields)['holder'], 'ai:bob');
    await move(bob, id, 'in_progress');
  });

  it('move from the state that the caller expects', async () => {
    const { id } = await create();
    const error = await bob.refused('memory_action_transition', {
      ...{ id, to: 'abandoned', expected_state: 'claimed' },
    });
    assert.equal(error.code, 'ACTION_STATE_CHANGED');
    assert.deepEqual(error.details, { current_state: 'pending', claimed_by: null });
    await move(alice, id, 'abandoned', { expected_state: 'pending' });
    const late = await bob.refused('memory_action_transition', { id, to: 'claimed' });
    assert.deepEqual(
      [late.code, late.message],
      ['ILLEGAL_TRANSITION', 'illegal action transition: abandoned -> claimed'],
    );
  });

  it('move on from a state of their own that the node has not heard of yet', async () => {
    const { id } = await create();
    const { store } = node.services;
    const before = await store.query(actionById(id));
    /** A node of an agent that answers once with the action as it was before the claim. */
    const behind = (by: string): Session => {
      const answers = [before];
      const query = (asked: Query) =>
        asked.kind === 'rules-for-reads'
          ? store.query(asked)
          : Promise.resolve(answers.pop() ?? store.query(asked));
      const execute = store.execute.bind(store);
      return sessionOf({ ...node.services, store: { execute, query } as Services['store'] }, agent(by));
    };
    await move(bob, id, 'claimed');
    for (const [by, to] of [
      ['ai:bob', 'claimed'],
      ['ai:alice', 'in_progress'],
    ] as const) {
      const late = await behind(by).refused('memory_action_transition', { id, to });
      assert.equal(late.code, 'ACTION_STATE_CHANGED', by);
    }
    const { action } = await behind('ai:bob').run('memory_action_transition', { id, to: 'in_progress' });
    assert.equal((action as Fields)['claimed_by'], 'ai:bob');
  });

  it('list in pages, those that changed last first', async () => {
    const namespace = 'listed';
    const ids: unknown[] = [];
    for (let count = 0; count < 5; count += 1) {
      // Actions of one millisecond stand in the order of their ids.
      await new Promise((resolve) => setTimeout(resolve, 2));
      ids.push((await create({ namespace }))['id']);
    }
    const seen: unknown[] = [];
    let after: Fields = {};
    for (;;) {
      const page = await bob.run('memory_action_list', { namespace, limit: 2, ...after });
      seen.push(...(page['actions'] as Fields[]).map(({ id }) => id));
      if (page['next'] === undefined) break;
      after = { after: page['next'] };
    }
    assert.deepEqual(seen, ids.toReversed());
    await move(bob, ids[2], 'claimed');
    const claimed = await bob.run('memory_action_list', { namespace, state: 'claimed' });
    assert.deepEqual(
      (claimed['actions'] as Fields[]).map(({ id }) => id),
      [ids[2]],
    );
  });

  it('show the frontier by priority and age, and what waits in vain', async () => {
    const namespace = 'board';
    const made = async (priority: number, more: Fields = {}) => {
      await new Promise((resolve) => setTimeout(resolve, 2));
      return String((await create({ namespace, priority, ...more }))['id']);
    };
    const [low, old, young, urgent] = [await made(-1), await made(0), await made(0), await made(9)];
    const owned = await made(5, { agent_id: 'ai:alice' });
    const edge = (from_action: string, to_action: string, edge_type: string) =>
      alice.run('memory_action_add_edge', { from_action, to_action, edge_type });
    await edge(urgent, low, 'requires');
    await edge(old, young, 'blocks');
    await edge(young, low, 'sibling');
    const frontier = async () => {
      const answer = await bob.run('memory_action_frontier', { namespace });
      return { ids: (answer['actions'] as Fields[]).map(({ id }) => id), stuck: answer['stuck'] as Fields[] };
    };
    assert.deepEqual(await frontier(), { ids: [owned, old, low], stuck: [] });
    const next = async (by: Fields = {}) =>
      ((await bob.run('memory_action_next', { namespace, ...by }))['action'] as Fields)['id'];
    assert.deepEqual([await next(), await next({ agent_id: 'ai:bob' })], [owned, old]);
    for (const to of ['claimed', 'in_progress', 'failed']) await move(bob, old, to);
    for (const to of ['claimed', 'in_progress', 'failed']) await move(bob, low, to);
    const { ids, stuck } = await frontier();
    assert.deepEqual(ids, [owned, young]);
    const blocked_by = [{ id: low, edge_type: 'requires', state: 'failed' }];
    assert.deepEqual(stuck, [{ id: urgent, title: 'build it', blocked_by }]);
    const shown = await bob.run('memory_action_get', { id: urgent });
    assert.deepEqual(shown['blocked_by'], [{ ...blocked_by[0], failed: true }]);
    const edges = (await bob.run('memory_action_edges', { id: low }))['edges'] as Fields[];
    assert.deepEqual(
      edges.map(({ from_action, edge_type }) => [from_action, edge_type]),
      [
        [urgent, 'requires'],
        [young, 'sibling'],
      ],
    );
    const empty = await bob.run('memory_action_next', { namespace: 'nowhere' });
    assert.deepEqual(empty, { action: null });
  });

  it('wait for a checkpoint, and never begin when it is rejected', async () => {
    const namespace = 'gates';
    const [one, two] = [(await create({ namespace }))['id'], (await create({ namespace }))['id']];
    const gate = async (from_action: unknown) => {
      const made = await alice.run('memory_checkpoint_create', { namespace, title: 'may it begin' });
      const edge = { from_action, to_action: made['id'] };
      const other = await alice.refused('memory_action_add_edge', { ...edge, edge_type: 'requires' });
      assert.equal(other.code, 'NOT_FOUND');
      await alice.run('memory_action_add_edge', { ...edge, edge_type: 'gated_by' });
      return made['id'];
    };
    const gates = [await gate(one), await gate(two)];
    const frontier = async () => {
      const answer = await bob.run('memory_action_frontier', { namespace });
      return [(answer['actions'] as Fields[]).map(({ id }) => id), answer['stuck']];
    };
    assert.deepEqual(await frontier(), [[], []]);
    assert.equal(
      (await bob.refused('memory_action_transition', { id: one, to: 'claimed' })).code,
      'ACTION_BLOCKED',
    );
    const resolve = (id: unknown, state: string) =>
      bob.run('memory_checkpoint_resolve', { id, state, resolved_by: 'ai:bob' });
    await resolve(gates[0], 'resolved');
    await resolve(gates[1], 'rejected');
    const blocked_by = [{ id: gates[1], edge_type: 'gated_by', state: 'rejected' }];
    assert.deepEqual(await frontier(), [[one], [{ id: two, title: 'build it', blocked_by }]]);
    const shown = await bob.run('memory_action_get', { id: two });
    assert.deepEqual(shown['blocked_by'], [{ ...blocked_by[0], failed: true }]);
    await move(bob, one, 'claimed');
  });

  it('show a private action to its maker, its owner and the operator alone', async () => {
    const namespace = 'secret';
    const { id } = await create({ namespace, metadata: { scope: 'private' } });
    const { id: open } = await create({ namespace });
    const seenBy = async (who: Session) => {
      const listed = (await who.run('memory_action_list', { namespace }))['actions'] as Fields[];
      const ready = (await who.run('memory_action_frontier', { namespace }))['actions'] as Fields[];
      return [listed.length, ready.length];
    };
    assert.deepEqual(
      [await seenBy(alice), await seenBy(bob), await seenBy(node.operator)],
      [
        [2, 2],
        [1, 1],
        [2, 2],
      ],
    );
    assert.deepEqual(await bob.run('memory_action_get', { id }), { action: null });
    assert.deepEqual(await bob.run('memory_action_edges', { id }), { edges: [] });
    const lease = { action_id: id, holder: 'ai:bob' };
    const edge = { from_action: open, to_action: id, edge_type: 'requires' };
    for (const [tool, input] of [
      ['memory_action_transition', { id, to: 'claimed' }],
      ['memory_lease_acquire', lease],
      ['memory_action_add_edge', edge],
    ] as const)
      assert.equal((await bob.refused(tool, input)).code, 'NOT_FOUND', tool);
    await alice.run('memory_lease_acquire', { action_id: id, holder: 'ai:alice' });
    assert.deepEqual(await bob.run('memory_lease_get', { action_id: id }), { lease: null });
  });

  it('say that a daemon has to pass on what another node decides', async () => {
    const other = replica(OTHER, START_MS);
    await done(other, creating({ id: 'elsewhere', namespace: 'elsewhere' }));
    const operations = (await other.read()).map(verified);
    const { origin, seq } = operations.at(-1)!;
    const heads = [{ origin, seq, hash: operations.at(-1)!.hash, signature: 'test' }];
    const taken = await node.services.store.execute({
      ...{ kind: 'apply-operations', from: `peer-${OTHER}`, operations, heads, nonce: null },
    });
    assert.ok(taken.ok);
    const error = await bob.refused('memory_action_transition', { id: 'elsewhere', to: 'claimed' });
    assert.equal(error.code, 'NOT_HOME');
    assert.match(error.message, new RegExp(`home node peer-${OTHER} .* start it with "mnemesh serve"`));
  });

  it('show an action of the highest priority that a peer may write', async () => {
    const [namespace, priority] = ['urgent', Number.MAX_SAFE_INTEGER];
    const made = await node.services.store.execute(creating({ namespace, priority }));
    assert.ok(made.ok);
    const { action } = await bob.run('memory_action_next', { namespace });
    assert.equal((action as Fields)['priority'], priority);
  });

  it('end an action whose creator has used up its storage bytes', async () => {
    const full = await openCoordinationNode({ maxStorageBytes: 2000 });
    try {
      const maker = full.as('ai:maker');
      const wanted = { namespace: 'team', kind: 'k', title: 't' };
      const ids: unknown[] = [];
      let code = '';
      while (code === '' && ids.length < 100) {
        const made = await maker.call('memory_action_create', wanted);
        if (made.ok) ids.push(made.value['id']);
        else code = made.error.code;
      }
      assert.equal(code, 'QUOTA_EXCEEDED');
      const worker = full.as('ai:worker');
      for (const to of ['claimed', 'in_progress', 'done'])
        await worker.run('memory_action_transition', { id: ids[0], to });
      await maker.run('memory_action_transition', { id: ids[1], to: 'abandoned' });
      assert.equal((await maker.refused('memory_action_create', wanted)).code, 'QUOTA_EXCEEDED');
    } finally {
      await full.close();
    }
  });

  it('lease, renew and release', async () => {
    const { id: action_id } = await create();
    const held = (answer: Fields) => answer['lease'] as Fields;
    const asked = { action_id, holder: 'ai:bob' };
    const lease = held(await bob.run('memory_lease_acquire', { ...asked, ttl_secs: 30 }));
    const { fencing_token, acquired_at, expires_at, heartbeat_at, ...rest } = lease;
    assert.deepEqual(rest, asked);
    assert.deepEqual([Number(expires_at) - Number(acquired_at), heartbeat_at], [30, acquired_at]);
    assert.ok(Number.isSafeInteger(fencing_token));
    assert.deepEqual(held(await alice.run('memory_lease_get', { action_id })), lease);
    const code = async (by: Session, tool: string, more: Fields) =>
      (await by.refused(tool, { action_id, ...more })).code;
    assert.equal(await code(alice, 'memory_lease_acquire', { holder: 'ai:alice' }), 'LEASE_HELD');
    assert.equal(await code(alice, 'memory_lease_acquire', { holder: 'ai:bob' }), 'FORBIDDEN');
    assert.equal(await code(alice, 'memory_lease_renew', { holder: 'ai:alice' }), 'LEASE_LOST');
    const zero = await bob.refused('memory_lease_acquire', { ...asked, ttl_secs: 0 });
    assert.match(zero.message, /ttl_secs must be positive/);
    const long = await bob.refused('memory_lease_acquire', { ...asked, ttl_secs: 365 * 86_400 + 1 });
    assert.match(long.message, /exceeds maximum of 1 year/);
    const renewed = held(await bob.run('memory_lease_renew', { ...asked, fencing_token, ttl_secs: 90 }));
    assert.equal(renewed['fencing_token'], fencing_token);
    assert.equal(Number(renewed['expires_at']) - Number(renewed['heartbeat_at']), 90);
    const stale = { ...asked, fencing_token: Number(fencing_token) - 1 };
    assert.deepEqual(await bob.run('memory_lease_release', stale), { released: false });
    assert.deepEqual(await bob.run('memory_lease_release', asked), { released: true });
    assert.deepEqual(await bob.run('memory_lease_get', { action_id }), { lease: null });
    assert.deepEqual(await bob.run('memory_lease_get', { action_id: 'nothing' }), { lease: null });
  });
});
