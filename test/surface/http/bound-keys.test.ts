import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { operationRoutes } from '../../../node/bindings/operation-route.js';
import { OPERATIONS } from '../../../node/operations/registry.js';
import { bindKey } from '../../support/agents.js';
import { startDaemonHere } from '../../support/daemon-here.js';
import { freePort, temporaryFolder } from '../../support/daemon-process.js';
import { agentKey, signedStoreBody } from '../../support/signing.js';
import { run } from '../cli/cli-process.js';
import { type HttpNode, openHttpNode } from './http-node.js';

const BOUND = agentKey('ai:bound');
const NEW_KEY = agentKey('ai:other').publicKeyText;
const as = (agent: string) => ({ 'x-agent-id': agent });
const now = () => new Date().toISOString();

const NO_SKILL = '00000000-0000-4000-8000-000000000000';

/** One request of each write; `id` is a memory of the caller. */
const INPUTS: Readonly<Record<string, (id: string, agent: string) => Record<string, unknown>>> = {
  memory_store: () => ({ title: 'unsigned', content: 'c' }),
  memory_update: () => ({ content: 'rewritten' }),
  memory_delete: () => ({}),
  memory_undo_edit: () => ({}),
  memory_resolve: (id) => ({ winner: id, loser: id }),
  memory_promote: () => ({}),
  memory_forget: () => ({ pattern: 'mine' }),
  memory_gc: () => ({}),
  memory_link: (id) => ({ source_id: id, target_id: id }),
  memory_unlink: (id) => ({ source_id: id, target_id: id }),
  memory_kg_invalidate: (id) => ({ source_id: id, target_id: id, relation: 'advances' }),
  memory_consolidate: (id) => ({ ids: [id, id], title: 'both' }),
  memory_atomise: (id) => ({ memory_id: id }),
  memory_reflect: (id) => ({ source_ids: [id], title: 'what follows', content: 'c' }),
  memory_entity_register: () => ({ canonical_name: 'Thing', namespace: 'team' }),
  memory_namespace_set_standard: (id) => ({ namespace: 'team', id }),
  memory_namespace_clear_standard: () => ({ namespace: 'team' }),
  memory_pending_approve: () => ({}),
  memory_pending_reject: () => ({}),
  memory_subscribe: () => ({ url: 'https://example.org/hook', secret: 's'.repeat(32) }),
  memory_unsubscribe: (id) => ({ id }),
  memory_subscription_replay: (id) => ({ subscription_id: id, since: '2026-01-01T00:00:00Z' }),
  memory_archive: (id) => ({ ids: [id] }),
  memory_archive_restore: () => ({}),
  memory_archive_purge: () => ({}),
  memory_agent_register: (_id, agent) => ({ agent_id: agent, agent_type: 'ai:changed' }),
  agent_bind_key: () => ({ pubkey_b64: NEW_KEY }),
  memory_signal_send: () => ({ namespace: 'team', subject: 's' }),
  memory_action_transition: () => ({ to: 'claimed' }),
  memory_capture_turn: () => ({ host_session_id: 's', host_turn_index: 0, role: 'user', content: 'c' }),
  memory_skill_register: () => ({ inline_skill: '---\nnamespace: team\nname: s\ndescription: d\n---\n' }),
  memory_skill_export: () => ({ skill_id: NO_SKILL, target_folder: 'x' }),
  memory_skill_promote_from_reflection: (id) => ({
    reflection_id: id,
    skill_name: 's',
    skill_description: 'd',
  }),
  memory_notify: () => ({ target_agent_id: 'ai:other', title: 't', payload: 'p' }),
  memory_inbox_read: () => ({ all: true }),
  memory_share: (id) => ({ source_memory_id: id, target_agent_id: 'ai:other' }),
  mesh_conflict_take: (id) => ({ id, op_id: 'none' }),
  jobs_pause: () => ({ all: true }),
  jobs_resume: () => ({ all: true }),
  jobs_cancel: () => ({ all: true }),
  token_mint: () => ({ namespaces: ['**'] }),
  token_revoke: () => ({ token_id: '0'.repeat(32) }),
  hook_answer: () => ({ answer: 'no' }),
  memory_import: () => ({ memories: [{ title: 'i', content: 'c' }] }),
};

/** Bulk asks for the signature of each row, a decision is signed with the secret of the node, the others change no rows. */
const ELSEWHERE = [
  'decide_approval',
  'memory_check_agent_action',
  'memory_quota_status',
  'memory_store_bulk',
];

const WRITES = operationRoutes(OPERATIONS).filter(({ operation }) => operation.effect === 'write');

describe('an agent with a key', () => {
  let node: HttpNode;
  let id: string;
  before(async () => {
    const admins = { adminAgentIds: [BOUND.agentId, 'ai:keyless'], adminHeaderTrust: true };
    node = await openHttpNode(admins, {
      // As by default: required, but not by name.
      wrap: (services) => ({ ...services, settings: { ...services.settings, requireAttestation: true } }),
    });
    await bindKey(node.services.store, BOUND);
    const body = signedStoreBody(BOUND, { title: 'mine', content: 'signed' }, now());
    const stored = await node.send('POST', '/api/v1/memories', body);
    assert.equal(stored.status, 201, stored.text);
    id = String(stored.json!['id']);
  });
  after(() => node.close());

  const send = (route: (typeof WRITES)[number], agent: string) => {
    const { binding, operation } = route;
    const inPath = (field: string) => binding.path.includes(`{${field}}`);
    const fields = Object.entries(INPUTS[operation.name]!(id, agent)).filter(([field]) => !inPath(field));
    const given = Object.fromEntries(fields);
    const path = `/api/v1${binding.path.replaceAll(/\{namespace\}/g, 'team').replaceAll(/\{\w+\}/g, id)}`;
    if (binding.fields === 'body') return node.send(binding.method, path, given, as(agent));
    const texts = fields.map(([name, value]): [string, string] => [name, String(value)]);
    return node.send(binding.method, `${path}?${new URLSearchParams(texts)}`, undefined, as(agent));
  };

  it('has each of its writes over HTTP refused that nobody signed', async () => {
    const before = await node.counts();
    for (const route of WRITES) {
      const name = `${route.binding.method} ${route.binding.path}`;
      if (ELSEWHERE.includes(route.operation.name)) continue;
      assert.ok(INPUTS[route.operation.name], `${name} needs a request in this test`);
      const { status, json, text } = await send(route, BOUND.agentId);
      assert.deepEqual([status, json?.['code']], [403, 'ATTESTATION_FAILED'], `${name}: ${text}`);
    }
    const rows = await node.send(
      'POST',
      '/api/v1/memories/bulk',
      [{ title: 'b', content: 'c' }],
      as(BOUND.agentId),
    );
    assert.equal(rows.json!['created'], 0);
    assert.match(rows.text, /ATTESTATION_FAILED/);
    assert.deepEqual(await node.counts(), before);
  });

  it('cannot be passed by in the body of a request without the header', async () => {
    const body = { content: 'rewritten', agent_id: BOUND.agentId };
    const { status, json } = await node.send('PUT', `/api/v1/memories/${id}`, body);
    assert.deepEqual([status, json?.['code']], [403, 'ATTESTATION_FAILED']);
  });

  it('still writes what it signs', async () => {
    const body = signedStoreBody(BOUND, { title: 'another', content: 'signed' }, now());
    assert.equal((await node.send('POST', '/api/v1/memories', body)).status, 201);
  });

  it('does not bind agents without a key', async () => {
    for (const route of WRITES) {
      const { guards, name } = route.operation;
      if (guards.attestation === 'required' || ELSEWHERE.includes(name) || name === 'agent_bind_key')
        continue;
      const { json, text } = await send(route, 'ai:keyless');
      assert.notEqual(json?.['code'], 'ATTESTATION_FAILED', `${name}: ${text}`);
    }
  });
});

it('an agent with a key changes what is its own where the operator permits unsigned writes', async () => {
  const node = await openHttpNode({ requireAttestation: false });
  try {
    await bindKey(node.services.store, BOUND);
    const stored = await node.send(
      'POST',
      '/api/v1/memories',
      { title: 't', content: 'c' },
      as(BOUND.agentId),
    );
    assert.equal(stored.status, 201, stored.text);
    const path = `/api/v1/memories/${stored.json!['id']}`;
    assert.equal((await node.send('PUT', path, { content: 'd' }, as(BOUND.agentId))).status, 200);
    assert.equal((await node.send('DELETE', path, undefined, as(BOUND.agentId))).status, 200);
  } finally {
    await node.close();
  }
});

it('on a node with its defaults, an agent with a key changes and deletes on the command line alone', async () => {
  const home = temporaryFolder('bound-keys');
  const env = { SVC_REQUIRE_AGENT_ATTESTATION: '' };
  const named = ['--agent-id', BOUND.agentId, '--json'];
  const command = async (...args: string[]) => {
    const { code, out, err } = await run(home, [...args, ...named], { env });
    assert.equal(code, 0, `${args[0]}: ${err}`);
    return JSON.parse(out) as Record<string, unknown>;
  };
  await command('identity', 'generate');
  const { public_key } = await command('identity', 'export-pub');
  await command('agents', 'register', '--agent-type', 'ai:test');
  await command('agents', 'bind-key', '--pubkey', String(public_key));
  const { id } = await command('store', '-T', 'mine', '-c', 'signed', '--sign');
  const daemon = await startDaemonHere(home, await freePort(), env);
  try {
    const path = `${daemon.base}/memories/${id}`;
    const headers = { ...as(BOUND.agentId), 'content-type': 'application/json' };
    for (const [method, body] of [
      ['PUT', '{"content":"rewritten"}'],
      ['DELETE', null],
    ] as const) {
      const answer = await fetch(path, { method, headers, body });
      const { code } = (await answer.json()) as { code: string };
      assert.deepEqual([answer.status, code], [403, 'ATTESTATION_FAILED'], method);
    }
    assert.equal((await fetch(path, { headers })).status, 200);
    await command('update', String(id), '--content', 'changed by the operator');
    await command('delete', String(id));
    assert.equal((await fetch(path, { headers })).status, 404);
  } finally {
    await daemon.end('SIGTERM');
  }
});
