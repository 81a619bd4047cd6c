import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { agentKey, signedStoreBody } from '../../support/signing.js';
import { type HttpNode, openHttpNode } from './http-node.js';

const ADMIN = { 'x-agent-id': 'ai:admin' };
const as = (agent: string) => ({ 'x-agent-id': agent });
const BUILDER = agentKey('ai:builder');
const OTHER = agentKey('ai:other');

let node: HttpNode;
before(async () => {
  node = await openHttpNode({
    requireAttestation: true,
    adminAgentIds: ['ai:admin'],
    adminHeaderTrust: true,
  });
});
after(() => node.close());

const register = (agent: string, more: object = {}) =>
  node.send('POST', '/api/v1/agents', { agent_id: agent, agent_type: 'ai:coder', ...more }, as(agent));
const bind = (agent: string, key: string, headers: Record<string, string> = ADMIN) =>
  node.send('PUT', `/api/v1/agents/${encodeURIComponent(agent)}/pubkey`, { pubkey_b64: key }, headers);
const store = (body: object, headers: Record<string, string> = {}) =>
  node.send('POST', '/api/v1/memories', body, headers);
let number = 0;
const fresh = () => ({ title: `note ${++number}`, content: `content ${number}`, namespace: 'team/a' });
const signed = (fields: { title: string; content: string }, at = new Date().toISOString(), key = BUILDER) =>
  signedStoreBody(key, fields, at);
const sees = (answer: { status: number; json: Record<string, unknown> | null }) =>
  `${answer.status} ${answer.json?.['code'] ?? ''}`.trim();

describe('agents', () => {
  it('register themselves, keep their first date, and list for admins', async () => {
    const first = await register('ai:builder', { capabilities: ['build'] });
    assert.equal(first.status, 201);
    assert.deepEqual(Object.keys(first.json!), [
      'registered',
      'id',
      'agent_id',
      'agent_type',
      'capabilities',
    ]);
    const before = await node.send('GET', '/api/v1/agents', undefined, ADMIN);
    await register('ai:builder', { capabilities: ['build', 'test'] });
    const after = await node.send('GET', '/api/v1/agents', undefined, ADMIN);
    const [old] = before.json!['agents'] as Record<string, string>[];
    const [now] = after.json!['agents'] as Record<string, unknown>[];
    assert.equal(after.json!['count'], 1);
    assert.equal(now!['registered_at'], old!['registered_at']);
    assert.deepEqual(now!['capabilities'], ['build', 'test']);
    assert.equal(
      sees(await node.send('GET', '/api/v1/agents', undefined, as('ai:builder'))),
      '403 ADMIN_REQUIRED',
    );
  });

  it('cannot be registered by others, nor with a bad type or a reserved id', async () => {
    const answer = await node.send(
      'POST',
      '/api/v1/agents',
      { agent_id: 'ai:builder', agent_type: 'human' },
      as('ai:mallory'),
    );
    assert.equal(sees(answer), '403 agent_id_body_header_mismatch');
    assert.equal(sees(await register('ai:x', { agent_type: 'robot' })), '400 VALIDATION_FAILED');
    assert.equal(sees(await register('system')), '400 VALIDATION_FAILED');
  });

  it('records take no other write: their keys are not for anybody to change', async () => {
    const list = await node.send('GET', '/api/v1/memories?namespace=_agents', undefined, as('ai:builder'));
    const [record] = list.json!['memories'] as { id: string }[];
    const path = `/api/v1/memories/${record!.id}`;
    for (const answer of [
      await node.send('PUT', path, { metadata: { pubkey_b64: 'x' } }, as('ai:builder')),
      await node.send('DELETE', path, undefined, as('ai:builder')),
      await node.send('POST', `${path}/promote`, undefined, as('ai:builder')),
      await store(signed({ title: 'agent:ai:victim', content: 'x', namespace: '_agents' } as never), {}),
    ]) {
      assert.ok(['403 FORBIDDEN', '403 ATTESTATION_FAILED'].includes(sees(answer)), answer.text);
    }
  });
});

describe('keys', () => {
  it('are bound by admins to registered agents, when they are sound', async () => {
    assert.equal(
      sees(await bind('ai:builder', BUILDER.publicKeyText, as('ai:builder'))),
      '403 ADMIN_REQUIRED',
    );
    assert.equal(sees(await bind('ai:nobody', BUILDER.publicKeyText)), '404 NOT_FOUND');
    for (const bad of [
      '',
      'AAAA',
      Buffer.alloc(32).toString('base64'),
      Buffer.alloc(32, 0xff).toString('base64'),
      `${BUILDER.publicKeyText} `,
    ]) {
      assert.equal(sees(await bind('ai:builder', bad)), '400 VALIDATION_FAILED', bad);
    }
    const bound = await bind('ai:builder', BUILDER.publicKeyText);
    assert.deepEqual([bound.status, bound.json], [200, { bound: true, agent_id: 'ai:builder' }]);
  });
});

describe('a signed write', () => {
  it('is attested, and its instant adopted verbatim', async () => {
    const createdAt = new Date(Date.now() - 60_000).toISOString().replace('Z', '+00:00');
    const answer = await store(signed(fresh(), createdAt));
    assert.equal(answer.status, 201, answer.text);
    const read = await node.send('GET', `/api/v1/memories/${answer.json!['id']}`);
    const memory = read.json!['memory'] as { created_at: string; metadata: Record<string, unknown> };
    assert.equal(memory.created_at, createdAt);
    assert.equal(memory.metadata['attest_level'], 'agent_attested');
    assert.equal(memory.metadata['agent_id'], 'ai:builder');
  });

  it('is good once', async () => {
    const body = signed(fresh());
    const first = await store(body);
    assert.equal(first.status, 201);
    const path = `/api/v1/memories/${first.json!['id']}`;
    assert.equal(sees(await store(body)), '409 ATTESTATION_REPLAYED');
    assert.equal(sees(await store({ ...body, on_conflict: 'merge' })), '409 ATTESTATION_REPLAYED');
    assert.equal(sees(await store({ ...body, on_conflict: 'version' })), '409 ATTESTATION_REPLAYED');
    await node.send('DELETE', path, undefined, as('ai:builder'));
    // Not after a delete either, which it would undo.
    assert.equal(sees(await store(body)), '409 ATTESTATION_REPLAYED');
  });

  it('of 32 copies at once makes one memory', async () => {
    const body = signed(fresh());
    const answers = await Promise.all(Array.from({ length: 32 }, () => store(body)));
    assert.equal(answers.filter((answer) => answer.status === 201).length, 1);
    assert.ok(answers.every((answer) => ['201', '409 ATTESTATION_REPLAYED'].includes(sees(answer))));
  });

  it('is refused when anything that it signs is another', async () => {
    const body = signed(fresh());
    for (const change of [
      { title: 'other' },
      { content: 'other' },
      { namespace: 'team/b' },
      { kind: 'decision' },
      { created_at: new Date(Date.now() + 1000).toISOString() },
      { signature: `A${body.signature.slice(1)}` },
      { signature: body.signature.replace(/=+$/, '') },
      { signature: '' },
    ]) {
      assert.equal(
        sees(await store({ ...body, ...change })),
        '403 ATTESTATION_FAILED',
        JSON.stringify(change),
      );
    }
    assert.equal(sees(await store({ ...body, created_at: undefined })), '400 VALIDATION_FAILED');
    assert.equal(sees(await store({ ...body, created_at: 'yesterday' })), '400 VALIDATION_FAILED');
    const late = new Date(Date.now() - 301_000).toISOString();
    assert.equal(sees(await store(signed(fresh(), late))), '403 ATTESTATION_FAILED');
    // What was refused did not use the envelope up.
    assert.equal((await store(body)).status, 201);
  });

  it('of another agent, or with an unbound key, is refused', async () => {
    assert.equal(sees(await store(signed(fresh(), undefined, OTHER))), '403 ATTESTATION_FAILED');
    const stolen = { ...signed(fresh()), agent_id: 'ai:other' };
    assert.equal(sees(await store(stolen)), '403 ATTESTATION_FAILED');
    assert.equal(sees(await store(signed(fresh()), as('ai:mallory'))), '403 agent_id_body_header_mismatch');
  });

  it('an unsigned one is refused, and so is attestation through metadata', async () => {
    assert.equal(sees(await store(fresh(), as('ai:builder'))), '403 ATTESTATION_FAILED');
    const answer = await store({ ...signed(fresh()), metadata: { attested_by: 'me', attest_level: 'x' } });
    const read = await node.send('GET', `/api/v1/memories/${answer.json!['id']}`);
    const { metadata } = read.json!['memory'] as { metadata: Record<string, unknown> };
    assert.equal(metadata['attested_by'], undefined);
  });

  it('is refused from the moment at which its key is rebound', async () => {
    const body = signed(fresh());
    await bind('ai:builder', OTHER.publicKeyText);
    assert.equal(sees(await store(body)), '403 ATTESTATION_FAILED');
    await bind('ai:builder', BUILDER.publicKeyText);
    assert.equal((await store(body)).status, 201);
  });
});

describe('the audit chain', () => {
  it('has a row for each registration and binding, and none of the secrets', async () => {
    const rows = await node.services.store.query({ kind: 'audit-rows', after: 0, limit: 100 });
    assert.ok(rows.ok);
    const types = rows.value.rows.map((row) => row.event_type);
    assert.equal(types.filter((type) => type === 'agent.registered').length, 1);
    assert.equal(
      types.filter((type) => type === 'agent.refreshed').length,
      1,
      'a registration of one that is known',
    );
    assert.equal(types.filter((type) => type === 'agent.key_bound').length, 3);
    assert.deepEqual(
      rows.value.rows.map((row) => row.sequence),
      types.map((_, index) => index + 1),
    );
    assert.ok(rows.value.rows.every((row) => row.signature !== null));
  });
});
