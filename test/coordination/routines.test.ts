import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { sweepRuns } from '../../actors/coordination/signals.js';
import { systemCrypto } from '../../node/seams.js';
import { routineEnvelopeBytes } from '../../protocol/coordination/signed.js';
import {
  type CoordinationNode,
  type Fields,
  openCoordinationNode,
  type Session,
} from './coordination-node.js';

const [ALICE, BOB] = ['ai:alice', 'ai:bob'];
const TEMPLATE = {
  actions: [
    { kind: 'build', title: 'build {{branch}}', payload: { branch: '{{branch}}', flags: ['{{flags}}', 7] } },
    { kind: '{{kind}}', title: 'test {{missing}}', priority: 5 },
  ],
  edges: [{ from: 1, to: 0, type: 'requires' }],
};

describe('routines', () => {
  let node: CoordinationNode;
  let alice: Session;
  let bob: Session;
  before(async () => {
    node = await openCoordinationNode();
    [alice, bob] = [node.as(ALICE), node.as(BOB)];
  });
  after(() => node.close());

  const make = async (more: Fields = {}) => {
    await new Promise((resolve) => setTimeout(resolve, 2));
    const made = await alice.run('memory_routine_create', { namespace: 'team', name: 'release', ...more });
    return made['routine'] as Fields;
  };
  const frozen = async (more: Fields = {}) => {
    const { id } = await make(more);
    await alice.run('memory_routine_freeze', { id });
    return id;
  };
  const actions = async () => {
    const found = await node.services.store.query({
      ...{
        kind: 'find-records',
        of: 'action',
        where: { namespace: 'team' },
        limit: 1000,
        viewer: null,
        now: '',
      },
    });
    assert.ok(found.ok);
    return found.value.rows as Fields[];
  };

  it('have the members of the reference', async () => {
    const { id, created_at, ...rest } = await make({ template: TEMPLATE, parameters: ['branch', { x: 1 }] });
    assert.deepEqual([typeof id, typeof created_at], ['string', 'number']);
    assert.deepEqual(rest, {
      ...{ namespace: 'team', name: 'release', template: TEMPLATE, parameters: ['branch', { x: 1 }] },
      ...{ state: 'draft', created_by: ALICE, frozen_at: null, signature: null, signer_pubkey: null },
      metadata: {},
    });
    assert.deepEqual((await make())['template'], {});
  });

  it('are refused with what is wrong with them', async () => {
    const good = { namespace: 'team', name: 'x' };
    const action = { kind: 'k', title: 't' };
    const template = (value: unknown) => ({ ...good, template: value });
    const wrong: [Fields, string][] = [
      [{ name: 'x' }, 'namespace is required'],
      [{ namespace: 'team' }, 'name is required'],
      [{ ...good, name: '' }, 'name: must not be blank'],
      [template({ steps: [] }), 'template: has no member "steps"'],
      [template({ actions: {} }), 'template: actions and edges must be lists'],
      [template({ actions: [{ ...action, owner: 'x' }] }), 'template: actions.0 has no member "owner"'],
      [template({ actions: [{ kind: 'k' }] }), 'template: actions.0 needs a text as title'],
      [template({ actions: [{ ...action, priority: 'high' }] }), 'template: actions.0 needs an integer'],
      [template({ actions: [action], edges: [{ from: 0, to: 1 }] }), 'template: edges.0 must go from'],
      [
        template({ actions: [action, action], edges: [{ from: 0, to: 1, type: 'after' }] }),
        'template: edges.0 has no type of these: requires',
      ],
      [
        template({ actions: Array.from({ length: 101 }, () => action) }),
        'template: has more than 100 actions',
      ],
      [{ ...good, parameters: {} }, 'parameters: '],
      [{ ...good, metadata: [] }, 'metadata: '],
    ];
    for (const [input, message] of wrong) {
      const { code, message: said } = await alice.refused('memory_routine_create', input);
      assert.equal(code, 'VALIDATION_FAILED', said);
      assert.ok(said.startsWith(message), `${said} begins with ${message}`);
    }
    const forged = await bob.refused('memory_routine_create', { ...good, created_by: ALICE });
    assert.equal(forged.code, 'FORBIDDEN');
  });

  it('are frozen once, by their maker, and signed', async () => {
    const { id } = await make({ template: TEMPLATE, parameters: ['branch'] });
    assert.equal((await bob.refused('memory_routine_freeze', { id })).code, 'FORBIDDEN');
    const first = await alice.run('memory_routine_freeze', { id });
    assert.equal(first['attest_level'], 'self_signed');
    const routine = first['routine'] as Fields;
    assert.equal(routine['state'], 'frozen');
    const data = routineEnvelopeBytes(
      {
        ...{ routine_id: String(id), namespace: 'team', name: 'release', template: TEMPLATE },
        ...{
          parameters: '["branch"]',
          frozen_at: new Date(Number(routine['frozen_at']) * 1000).toISOString(),
        },
      },
      systemCrypto,
    );
    const bytes = (text: unknown) => Buffer.from(String(text), 'base64');
    assert.ok(systemCrypto.verify(bytes(routine['signer_pubkey']), data, bytes(routine['signature'])));
    await new Promise((resolve) => setTimeout(resolve, 1100));
    assert.deepEqual(await alice.run('memory_routine_freeze', { id }), first, 'it does not sign again');
    const unknown = await alice.refused('memory_routine_freeze', { id: 'no-such' });
    assert.deepEqual([unknown.code, unknown.message], ['NOT_FOUND', 'routine not found: no-such']);
    assert.equal((await alice.refused('memory_routine_freeze', {})).code, 'VALIDATION_FAILED');
  });

  it('make their actions and edges at once, with the arguments filled in', async () => {
    const id = await frozen({ template: TEMPLATE });
    const given = { branch: 'parser', flags: { fast: true }, kind: 'test' };
    const ran = await bob.run('memory_routine_run', { routine_id: id, arguments: given });
    const { id: runId, started_at, finished_at, ...run } = ran['run'] as Fields;
    const ids = ran['created_action_ids'] as string[];
    assert.deepEqual([typeof started_at, typeof finished_at, ids.length], ['number', 'number', 2]);
    assert.deepEqual(run, {
      ...{ routine_id: id, namespace: 'team', arguments: given, state: 'completed', error: null },
      ...{ created_action_ids: ids, metadata: {} },
    });
    const made = (await actions()).filter((each) => ids.includes(String(each['action_id'])));
    assert.deepEqual(
      ids.map((each) => {
        const found = made.find(({ action_id }) => action_id === each)!;
        const { action_kind, title, payload, priority, agent_id, created_by, state } = found;
        return [action_kind, title, JSON.parse(String(payload)), priority, agent_id, created_by, state];
      }),
      [
        [
          'build',
          'build parser',
          { branch: 'parser', flags: ['{"fast":true}', 7] },
          0,
          ALICE,
          BOB,
          'pending',
        ],
        ['test', 'test {{missing}}', {}, 5, ALICE, BOB, 'pending'],
      ],
    );
    const edges = await node.services.store.query({
      ...{ kind: 'find-records', of: 'action_edge', where: { from_action: ids[1]! }, limit: 9, viewer: null },
      now: '',
    });
    assert.ok(edges.ok);
    assert.deepEqual(
      (edges.value.rows as Fields[]).map(({ to_action, edge_type }) => [to_action, edge_type]),
      [[ids[0], 'requires']],
    );
    const status = await bob.run('memory_routine_status', { run_id: runId });
    assert.deepEqual(status, { run: ran['run'], actions: { pending: 2 } });
    assert.deepEqual(await bob.run('memory_routine_status', { run_id: 'no-such' }), { run: null });
  });

  it('take the defaults of their parameters, and want those that are required', async () => {
    const parameters = [
      { name: 'who', default: 'all' },
      { name: 'what', required: true },
    ];
    const id = await frozen({
      parameters,
      template: { actions: [{ kind: 'k', title: '{{who}} {{what}}' }] },
    });
    const failed = await bob.run('memory_routine_run', { routine_id: id, arguments: {} });
    assert.equal(failed['error'], 'the argument "what" is required');
    const ran = await bob.run('memory_routine_run', { routine_id: id, arguments: { what: 'x' } });
    const [made] = ran['created_action_ids'] as string[];
    assert.equal((await actions()).find(({ action_id }) => action_id === made)?.['title'], 'all x');
  });

  it('make no action where one of them cannot be made, and a failed run that says why', async () => {
    const action = { kind: 'k', title: 'a {{long}}' };
    const cycle = [
      { from: 0, to: 1, type: 'requires' },
      { from: 1, to: 0, type: 'requires' },
    ];
    const wrong: [Fields, Fields, RegExp][] = [
      [{}, {}, /makes no actions/],
      [{ actions: [action] }, { long: 'x'.repeat(600) }, /actions.0 .* too long/],
      [{ actions: [action, { kind: '{{empty}}', title: 't' }] }, { empty: ' ' }, /actions.1 .* blank/],
      [{ actions: [action, action], edges: cycle }, {}, /wait for each other/],
      [
        { actions: [{ ...action, payload: Array.from({ length: 2000 }, () => '{{long}}') }] },
        { long: 'x'.repeat(1000) },
        /more than 1048576 bytes/,
      ],
    ];
    for (const [template, given, why] of wrong) {
      const id = await frozen({ template });
      const before = (await actions()).length;
      const ran = await bob.run('memory_routine_run', { routine_id: id, arguments: given });
      const run = ran['run'] as Fields;
      assert.match(String(ran['error']), why);
      assert.deepEqual([run['state'], run['error'], run['created_action_ids']], ['failed', ran['error'], []]);
      assert.equal('created_action_ids' in ran, false);
      assert.equal((await actions()).length, before);
      const status = await bob.run('memory_routine_status', { run_id: run['id'] });
      assert.deepEqual(status, { run, actions: {} });
    }
  });

  it('make an edge once that the template names twice, and no action with too many', async () => {
    const actions = Array.from({ length: 100 }, (_, at) => ({ kind: 'k', title: `t${at}` }));
    const edge = { from: 0, to: 1, type: 'requires' };
    const twice = await frozen({ template: { actions: actions.slice(0, 2), edges: [edge, edge] } });
    const ran = await bob.run('memory_routine_run', { routine_id: twice, arguments: {} });
    const [first, second] = ran['created_action_ids'] as string[];
    const shown = await bob.run('memory_action_edges', { id: first });
    assert.deepEqual(
      (shown['edges'] as Fields[]).map(({ from_action, to_action }) => [from_action, to_action]),
      [[first, second]],
    );
    const edges = ['requires', 'gated_by', 'sibling'].flatMap((type) =>
      actions.slice(1).map((_, at) => ({ from: 0, to: at + 1, type })),
    );
    const full = await frozen({ template: { actions, edges } });
    const { error } = await bob.run('memory_routine_run', { routine_id: full, arguments: {} });
    assert.match(String(error), /action 0 has 297 edges, and 256 are the most/);
  });

  it('give their actions no priority that an action cannot have', async () => {
    const template = (priority: number) => ({ actions: [{ kind: 'k', title: 't', priority }] });
    for (const priority of [1_000_001, -1_000_001, 0.5]) {
      const wanted = { namespace: 'team', name: 'n', template: template(priority) };
      const { code, message } = await alice.refused('memory_routine_create', wanted);
      assert.equal(code, 'VALIDATION_FAILED');
      assert.match(message, /actions.0 needs an integer from -1000000 to 1000000 as priority/);
    }
    await frozen({ template: template(1_000_000) });
  });

  it('are not run as drafts, nor without arguments', async () => {
    const { id } = await make({ template: TEMPLATE });
    const draft = await bob.refused('memory_routine_run', { routine_id: id, arguments: {} });
    assert.equal(draft.code, 'ROUTINE_NOT_FROZEN');
    assert.equal(draft.message, 'routine must be frozen before it can be run');
    const bare = await bob.refused('memory_routine_run', { routine_id: id });
    assert.deepEqual([bare.code, bare.message], ['VALIDATION_FAILED', 'arguments: must be a JSON object']);
    const list = await bob.refused('memory_routine_run', { routine_id: id, arguments: [] });
    assert.equal(list.code, 'VALIDATION_FAILED');
    const unknown = await bob.refused('memory_routine_run', { routine_id: 'no-such', arguments: {} });
    assert.equal(unknown.code, 'NOT_FOUND');
  });

  it('of a private scope are not there for others', async () => {
    const id = await frozen({ namespace: 'secret', template: TEMPLATE, metadata: { scope: 'private' } });
    const listed = async (who: Session) =>
      ((await who.run('memory_routine_list', { namespace: 'secret' }))['routines'] as Fields[]).length;
    assert.deepEqual([await listed(alice), await listed(bob)], [1, 0]);
    const refused = await bob.refused('memory_routine_run', { routine_id: id, arguments: {} });
    assert.equal(refused.code, 'NOT_FOUND');
    assert.equal((await bob.refused('memory_routine_freeze', { id })).code, 'NOT_FOUND');
  });

  it('stand in a list by state, the newest first, page by page', async () => {
    const namespace = 'listed';
    const ids = [
      (await make({ namespace }))['id'],
      await frozen({ namespace }),
      (await make({ namespace }))['id'],
    ];
    const list = async (more: Fields = {}) => {
      const page = await bob.run('memory_routine_list', { namespace, ...more });
      return { ids: (page['routines'] as Fields[]).map(({ id }) => id), next: page['next'] };
    };
    assert.deepEqual((await list()).ids, [...ids].reverse());
    assert.deepEqual((await list({ state: 'frozen' })).ids, [ids[1]]);
    const first = await list({ limit: 2 });
    assert.deepEqual(await list({ limit: 2, after: first.next }), { ids: [ids[0]], next: undefined });
    for (const bad of [{ state: 'lost' }, { limit: 0 }, { namespace: '' }])
      assert.equal(
        (await bob.refused('memory_routine_list', { namespace, ...bad })).code,
        'VALIDATION_FAILED',
      );
  });

  it('have runs that are removed some time after their end', async () => {
    const id = await frozen({ template: { actions: [{ kind: 'k', title: 't' }] } });
    const ran = await bob.run('memory_routine_run', { routine_id: id, arguments: {} });
    const run_id = (ran['run'] as Fields)['id'];
    const { store, peerId } = node.services;
    await sweepRuns(store, peerId, new Date(Date.now() - 60_000).toISOString());
    assert.notEqual((await bob.run('memory_routine_status', { run_id }))['run'], null);
    await sweepRuns(store, peerId, new Date(Date.now() + 1000).toISOString());
    assert.deepEqual(await bob.run('memory_routine_status', { run_id }), { run: null });
    assert.equal(await sweepRuns(store, peerId, new Date(Date.now() + 1000).toISOString()), false);
  });

  it('write into the audit chain what was made, frozen and run', async () => {
    const id = await frozen({ template: { actions: [{ kind: 'k', title: 't' }] } });
    await bob.run('memory_routine_run', { routine_id: id, arguments: {} });
    const events = await node.services.store.query({ kind: 'audit-rows', after: 0, limit: 1000 });
    assert.ok(events.ok);
    const found = events.value.rows.filter(({ payload }) => String(payload).includes(String(id)));
    assert.deepEqual(
      found.map(({ event_type, agent_id }) => [event_type, agent_id]),
      [
        ['coordination.routine_create', ALICE],
        ['coordination.routine_freeze', ALICE],
        ['coordination.routine_run', BOB],
      ],
    );
  });
});
