import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Caller } from '../../node/identity/caller.js';
import { OPERATIONS } from '../../node/operations/registry.js';
import type { HttpNode } from '../surface/http/http-node.js';
import { openHttpNode } from '../surface/http/http-node.js';
import { ADMIN, call, callerOf, ONE, OPERATOR, type Row } from './reads.js';

/** A word that all texts of the withheld namespaces hold, and no other. */
const MARK = 'zephyrine';
const PLACE = `${MARK}/a`;
const AGENT = callerOf('ai:two');
const SECOND = callerOf('ai:second', true);

const textsOf = (value: unknown): readonly string[] =>
  typeof value === 'string' ? [value] : Object.values((value ?? {}) as object).flatMap(textsOf);

/** The list of recalls without what the caller itself asked. */
const withoutOwn = (answer: unknown, { agentId }: Caller): string =>
  JSON.stringify(answer, (key, value: unknown) => {
    const { agent_id, query, ...rest } = (value ?? {}) as Row;
    return key !== '' && agent_id === agentId && query !== undefined ? rest : value;
  });

describe('no operation tells an agent of a namespace that a policy keeps from it', {
  timeout: 120_000,
}, () => {
  let node: HttpNode;
  const ids: Record<string, string> = {};
  const done = async (name: string, input: Row, caller: Caller = ONE): Promise<Row> => {
    const answer = await call(node, name, input, caller);
    assert.ok(answer.ok, `${name}: ${JSON.stringify(answer)}`);
    return answer.value as Row;
  };
  const store = async (key: string, more: Row = {}) => {
    const memory = { title: `${MARK} ${key}`, content: `what the ${MARK} knows of ${key}`, namespace: PLACE };
    const { id } = await done('memory_store', { ...memory, ...more });
    ids[key] = String(id);
    return ids[key]!;
  };
  before(async () => {
    node = await openHttpNode({ allowLoopbackWebhooks: true });
    const open = { title: 'an open note', content: 'all may read it', namespace: 'open' };
    ids['open'] = String((await done('memory_store', open))['id']);
    const hooked = await done(
      'memory_subscribe',
      { url: 'https://127.0.0.1:9/hook', secret: 'a secret of the hook' },
      AGENT,
    );
    ids['hook'] = String(hooked['id']);
    await store('first', { tags: [MARK], source_uri: `file:///${MARK}`, entity_id: `ent-${MARK}` });
    await store('second', { content: `the ${MARK} is not so`, valid_until: '2020-01-01T00:00:00Z' });
    await store('gone');
    await store('dropped');
    await done('memory_update', { id: ids['first'], content: `the ${MARK} was changed` });
    await done('memory_archive', { ids: [ids['gone']] });
    await done('memory_delete', { id: ids['dropped'] });
    for (const [source_id, target_id] of [
      ['open', 'first'],
      ['first', 'second'],
      ['second', 'open'],
    ] as const)
      await done('memory_link', {
        source_id: ids[source_id],
        target_id: ids[target_id],
        relation: 'related_to',
      });
    const opposed = { source_id: ids['first'], target_id: ids['second'], relation: 'contradicts' };
    await done('memory_link', opposed);
    await done('memory_kg_invalidate', { ...opposed });
    const said = { title: `${MARK} thought`, content: `a thought of the ${MARK}`, namespace: PLACE };
    const reflected = await done('memory_reflect', { ...said, source_ids: [ids['first'], ids['second']] });
    ids['reflection'] = String(reflected['id'] ?? reflected['reflection_id']);
    const entity = { canonical_name: `${MARK} corp`, namespace: PLACE, aliases: [`${MARK} inc`] };
    ids['entity'] = String((await done('memory_entity_register', entity))['entity_id']);
    const action = { namespace: PLACE, kind: 'task', title: `${MARK} task`, payload: { of: MARK } };
    ids['action'] = String((await done('memory_action_create', action))['id']);
    ids['action2'] = String((await done('memory_action_create', { ...action, title: `${MARK} more` }))['id']);
    await done('memory_action_add_edge', {
      from_action: ids['action'],
      to_action: ids['action2'],
      edge_type: 'unlocks',
    });
    const checkpoint = { namespace: PLACE, title: `${MARK} gate`, condition_type: 'approval' };
    ids['checkpoint'] = String((await done('memory_checkpoint_create', checkpoint))['id']);
    const routine = { namespace: PLACE, name: `${MARK}-routine`, template: { actions: [] } };
    ids['routine'] = String((await done('memory_routine_create', routine))['id']);
    const signal = {
      namespace: PLACE,
      subject: `${MARK} signal`,
      to_agent: null,
      correlation_id: `${MARK}-thread`,
    };
    ids['signal'] = String((await done('memory_signal_send', signal))['id']);
    const skill = `---\nnamespace: ${PLACE}\nname: ${MARK}-skill\ndescription: how ${MARK} works\n---\nDo ${MARK}.`;
    ids['skill'] = String(
      (await done('memory_skill_register', { inline_skill: skill }, OPERATOR))['skill_id'],
    );
    const turn = {
      host_session_id: 's1',
      host_turn_index: 0,
      role: 'user',
      content: `${MARK} said`,
      namespace: PLACE,
    };
    await done('memory_capture_turn', turn);
    ids['ref'] = String(
      (await done('memory_offload', { content: `${MARK} heap`, namespace: PLACE }))['ref_id'],
    );
    await done('memory_namespace_set_standard', { namespace: 'open', id: ids['first'] }, OPERATOR);
    await done('memory_recall', { context: MARK });
    const asks = { write: 'approve', read: 'owner' };
    await done('memory_namespace_set_standard', { namespace: MARK, governance: asks }, ADMIN);
    const late = { title: `${MARK} waiting`, content: `${MARK} waits`, namespace: PLACE };
    ids['pending'] = String((await done('memory_store', late))['pending_id']);
    await node.services.touches.flush();
  });
  after(() => node.close());

  /** Values for the fields of inputs: of each field all are tried. */
  const valuesOf = (field: string): readonly unknown[] => {
    const id = (...keys: readonly string[]) =>
      keys.map((key) => ids[key]).filter((each) => each !== undefined);
    const memory = id('first', 'gone', 'dropped', 'reflection');
    switch (field) {
      case 'id':
        return [...Object.values(ids)];
      case 'memory_id':
      case 'source_memory_id':
      case 'source_id':
      case 'winner':
      case 'id_a':
      case 'reflection_id':
        return [...memory, ids['open']];
      case 'target_id':
      case 'loser':
      case 'id_b':
        return id('second', 'first');
      case 'ids':
      case 'source_ids':
        return [id('open', 'first'), id('first', 'second')];
      case 'namespace':
      case 'prefix':
      case 'root':
        return [PLACE, `${MARK}/**`, 'open'];
      default:
        return OTHER[field] ?? [];
    }
  };
  const OTHER: Record<string, readonly unknown[]> = {
    ...{
      context: [MARK, 'what is known'],
      query: [MARK],
      topic: [MARK],
      intent: [MARK],
      alias: [`${MARK} inc`],
    },
    ...{ title: [`${MARK} first`], content: [`what the ${MARK} knows of first`], relation: ['related_to'] },
    ...{ canonical_name: [`${MARK} corp`], entity_id: [`ent-${MARK}`], by_source_uri: [`file:///${MARK}`] },
    ...{ family: ['core'], kind: ['task'], to_namespace: [MARK], target_agent_id: ['ai:third'] },
    ...{ summary: ['x'], condition_type: ['approval'], state: ['open'], name: [`${MARK}-routine`] },
    ...{ subject: ['x'], correlation_id: [`${MARK}-thread`], holder: ['ai:two'], to: ['1'] },
    ...{ since: ['2020-01-01T00:00:00Z'], skill_name: ['how'], skill_description: ['how'] },
    ...{ remember: ['once'], decision: ['approve'], role: ['user'], for_agent: ['ai:two'] },
    ...{ host_session_id: ['s1'], host_turn_index: [0], host_kind: ['x'], dry_run: [true], payload: [{}] },
    ...{ agent_id: ['ai:two'], agent_type: ['ai:test'], to_action: [], resource_path: ['SKILL.md'] },
  };
  const OF_OPERATION: Readonly<Record<string, () => Row>> = {
    memory_action_add_edge: () => ({
      from_action: ids['action'],
      to_action: ids['action2'],
      edge_type: 'unlocks',
    }),
    memory_lease_acquire: () => ({ action_id: ids['action'], holder: 'ai:two' }),
    memory_lease_get: () => ({ action_id: ids['action'] }),
    memory_routine_run: () => ({ routine_id: ids['routine'], arguments: {} }),
    memory_action_transition: () => ({ id: ids['action'], to: 'claimed' }),
    memory_skill_get: () => ({ skill_id: ids['skill'] }),
    memory_skill_resource: () => ({ skill_id: ids['skill'], resource_path: 'a' }),
    memory_skill_compositional_context: () => ({ skill_id: ids['skill'] }),
    memory_update: () => ({ id: ids['first'], content: 'another text' }),
    memory_namespace_clear_standard: () => ({ namespace: 'open' }),
    memory_signal_send: () => ({ namespace: 'open', subject: 'x' }),
    memory_subscription_replay: () => ({ subscription_id: ids['hook'], since: '2020-01-01T00:00:00Z' }),
    memory_subscription_dlq_list: () => ({}),
    memory_routine_status: () => ({ run_id: ids['action'] }),
    verify_reflection_chain: () => ({ memory_id: ids['reflection'] }),
    memory_suggest_tags: () => ({ memory_id: ids['first'] }),
    jobs_show: () => ({ id: `auto_tag:${ids['first']}` }),
    memory_lease_renew: () => ({ action_id: ids['action'], holder: 'ai:two', fencing_token: 1 }),
    memory_lease_release: () => ({ action_id: ids['action'], holder: 'ai:two', fencing_token: 1 }),
    memory_check_agent_action: () => ({ kind: 'bash', command: 'ls' }),
    memory_recover_turn: () => ({
      ...{
        host_session_id: 's1',
        host_turn_index: 0,
        host_kind: 'x',
        role: 'user',
        content: 'x',
        namespace: PLACE,
      },
      ...{ transcript_path: '/x', line_sha256: '0'.repeat(64) },
    }),
    memory_deref: () => ({ ref_id: ids['ref'] }),
    memory_import: () => ({ memories: [] }),
    memory_store_bulk: () => ({
      memories: [{ title: `${MARK} first`, content: `what the ${MARK} knows of first`, namespace: PLACE }],
    }),
    memory_notify: () => ({ target_agent_id: 'ai:third', title: 'x', payload: 'y' }),
    memory_known_turns: () => ({ turns: [{ host_session_id: 's1', host_turn_index: 0, host_kind: 'x' }] }),
    memory_subscribe: () => ({ url: 'https://127.0.0.1:9/hook', secret: 'another secret' }),
    memory_namespace_set_standard: () => ({ namespace: 'open', id: ids['second'] }),
    memory_reown: () => ({ namespace: PLACE, to: 'ai:third', dry_run: true }),
    memory_forget: () => ({ namespace: PLACE, dry_run: true }),
    memory_checkpoint_resolve: () => ({ id: ids['checkpoint'], state: 'resolved' }),
    decide_approval: () => ({ pending_id: ids['pending'], decision: 'deny' }),
  };
  /** These show what governs the node, to admins alone. */
  const OF_ADMINS = new Set(['memory_capabilities', 'audit_list']);

  /** The inputs with which an operation is called: one with all fields, and one for each value of a field. */
  const inputsOf = (
    name: string,
    fields: readonly string[],
    required: ReadonlySet<string>,
  ): readonly Row[] => {
    const own = OF_OPERATION[name]?.();
    if (own !== undefined) return [own];
    const least: Row = {};
    for (const field of fields) if (required.has(field)) least[field] = valuesOf(field)[0];
    return [
      least,
      ...fields.flatMap((field) => valuesOf(field).map((value) => ({ ...least, [field]: value }))),
    ];
  };

  const readsFirst = [...OPERATIONS].sort(
    (a, b) => Number(a.effect === 'write') - Number(b.effect === 'write'),
  );
  for (const operation of readsFirst) {
    const shape = operation.input.shape as Record<
      string,
      { safeParse: (value: unknown) => { success: boolean } }
    >;
    const fields = Object.keys(shape);
    const required = new Set(fields.filter((field) => !shape[field]!.safeParse(undefined).success));
    it(operation.name, async () => {
      const codes = new Set<string>();
      for (const input of inputsOf(operation.name, fields, required)) {
        for (const caller of [AGENT, SECOND]) {
          const answer = await call(node, operation.name, input, caller);
          const asked = JSON.stringify(input);
          codes.add(answer.ok ? 'ok' : answer.error.code);
          let text = JSON.stringify(answer);
          // What the caller says comes back in some answers.
          for (const value of textsOf(input)) text = text.replaceAll(value, '');
          if (operation.name === 'memory_recalls') text = withoutOwn(answer, caller);
          if (OF_ADMINS.has(operation.name) && caller === SECOND) continue;
          assert.ok(!text.includes(MARK), `${caller.agentId} ${asked}: ${text.slice(0, 2000)}`);
          for (const [key, id] of Object.entries(ids))
            if (key !== 'open' && key !== 'hook')
              assert.ok(
                !text.includes(id),
                `${caller.agentId} ${asked} names ${key}: ${text.slice(0, 2000)}`,
              );
        }
      }
      // Tokens name no memory.
      if (operation.name.startsWith('token_')) return;
      assert.ok(
        codes.size > 1 || !codes.has('VALIDATION_FAILED'),
        `nothing but refused inputs: ${operation.name}`,
      );
    });
  }

  it('but the owner of the policy sees what they hide', async () => {
    for (const [name, input] of [
      ['memory_list', {}],
      ['memory_recall', { context: 'knows' }],
      ['memory_search', { query: 'knows' }],
      ['memory_export', {}],
      ['memory_signal_inbox', { namespace: PLACE }],
      ['memory_skill_list', {}],
      ['memory_action_list', {}],
    ] as const) {
      const answer = await call(node, name, input, ADMIN);
      assert.ok(answer.ok && JSON.stringify(answer).includes(MARK), `${name}: ${JSON.stringify(answer)}`);
    }
  });
});
