import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operationRoutes } from '../../../node/bindings/operation-route.js';
import { httpCallers } from '../../../node/identity/http-caller.js';
import { OPERATIONS } from '../../../node/operations/registry.js';
import type { Log, Random } from '../../../protocol/base/seams.js';
import { type HttpNode, openHttpNode } from './http-node.js';

async function withNode(
  run: (node: HttpNode) => Promise<void>,
  ...options: Parameters<typeof openHttpNode>
): Promise<void> {
  const node = await openHttpNode(...options);
  try {
    await run(node);
  } finally {
    await node.close();
  }
}

const memory = (title: string, more: Record<string, unknown> = {}) => ({ title, content: 'text', ...more });
const PATH = '/api/v1/memories';

test('the header is the caller; an equal claim passes, another is refused', () =>
  withNode(async (node) => {
    const bare = await node.send('POST', PATH, memory('a'), { 'x-agent-id': 'alice' });
    assert.equal(bare.json!['agent_id'], 'alice');
    const equal = await node.send('POST', PATH, memory('b', { agent_id: 'alice' }), {
      'x-agent-id': 'alice',
    });
    assert.equal(equal.json!['agent_id'], 'alice');
    const claimed = await node.send('POST', PATH, memory('c', { agent_id: 'bob' }));
    assert.equal(claimed.json!['agent_id'], 'bob');

    const before = await node.counts();
    const other = await node.send('POST', PATH, memory('d', { agent_id: 'bob' }), { 'x-agent-id': 'alice' });
    assert.deepEqual([other.status, other.json!['code']], [403, 'agent_id_body_header_mismatch']);
    const metadata = memory('e', { metadata: { agent_id: 'bob' } });
    const side = await node.send('POST', PATH, metadata, { 'x-agent-id': 'alice' });
    assert.deepEqual([side.status, side.json!['code']], [403, 'agent_id_body_header_mismatch']);
    const inQuery = await node.send('DELETE', `${PATH}/x?agent_id=bob`, undefined, { 'x-agent-id': 'alice' });
    assert.deepEqual([inQuery.status, inQuery.json!['code']], [403, 'agent_id_query_header_mismatch']);
    assert.deepEqual(await node.counts(), before);
  }));

test('a claim names the caller of a write that has no such field', () =>
  withNode(async (node) => {
    const headers = { 'x-agent-id': 'alice' };
    const mine = memory('a', { scope: 'private' });
    const { json } = await node.send('POST', PATH, mine, headers);
    const other = await node.send('POST', `${PATH}/${json!['id']}/promote`, { agent_id: 'bob' });
    assert.equal(other.status, 404, 'a private memory does not exist for others');
    const own = await node.send('POST', `${PATH}/${json!['id']}/promote`, { agent_id: 'alice' });
    assert.equal(own.status, 200, own.text);
    const bare = await node.send('DELETE', `${PATH}/${json!['id']}?agent_id=alice`);
    assert.deepEqual([bare.status, bare.json!['code']], [403, 'agent_id_query_header_mismatch']);
    const deleted = await node.send('DELETE', `${PATH}/${json!['id']}?agent_id=alice`, undefined, headers);
    assert.equal(deleted.status, 200, deleted.text);
  }));

/** What `agent_id` in the query is a filter of: it says whose rows are asked for, and gives no rights. */
const FILTERED = ['GET /memories', 'GET /recalls', 'GET /search'];

test('no route takes its caller from the query, whoever the query names', () =>
  withNode(
    async (node) => {
      const filters: string[] = [];
      const asked = operationRoutes(OPERATIONS).filter(({ binding }) => binding.fields === 'query');
      for (const { binding, claims } of asked) {
        const name = `${binding.method} ${binding.path}`;
        const path = binding.path.replaceAll(/\{\w+\}/g, 'x');
        if (!claims) filters.push(name);
        for (const agent of ['alice', 'root']) {
          const { status, json } = await node.send(binding.method, `/api/v1${path}?agent_id=${agent}`);
          const refused = status === 403 && json?.['code'] === 'agent_id_query_header_mismatch';
          if (claims) assert.ok(refused, `${name}: ${status} ${JSON.stringify(json)}`);
        }
      }
      assert.deepEqual(filters.sort(), [...FILTERED].sort());
    },
    { adminAgentIds: ['root'], adminHeaderTrust: true },
  ));

test('private memories show to their owner alone', () =>
  withNode(async (node) => {
    const { json } = await node.send('POST', PATH, memory('secret plan', { scope: 'private' }), {
      'x-agent-id': 'alice',
    });
    const asks = (headers: Record<string, string>) =>
      node.send('GET', `${PATH}/${json!['id']}`, undefined, headers);
    assert.equal((await asks({ 'x-agent-id': 'alice' })).status, 200);
    assert.equal((await asks({ 'x-agent-id': 'bob' })).status, 404);
    assert.equal((await asks({})).status, 404);
    const filtered = await node.send('GET', `${PATH}?agent_id=alice`, undefined, { 'x-agent-id': 'bob' });
    assert.equal(filtered.json!['count'], 0, 'a filter gives no rights');
  }));

test('invalid, reserved and ambiguous ids are refused', () =>
  withNode(async (node) => {
    const before = await node.counts();
    for (const id of ['a b', 'a;b', '', '../x', '/x', 'x'.repeat(129), 'daemon', 'system', 'a, b']) {
      const byHeader = await node.send('POST', PATH, memory('t'), { 'x-agent-id': id });
      assert.deepEqual([byHeader.status, byHeader.json!['code']], [400, 'VALIDATION_FAILED'], `header ${id}`);
      const byBody = await node.send('POST', PATH, memory('t', { agent_id: id }));
      assert.deepEqual([byBody.status, byBody.json!['code']], [400, 'VALIDATION_FAILED'], `body ${id}`);
    }
    const number = await node.send('POST', PATH, memory('t', { agent_id: 7 }));
    assert.deepEqual([number.status, number.json!['code']], [400, 'VALIDATION_FAILED']);
    assert.deepEqual(await node.counts(), before);
  }));

test('a request without a name gets one of its own, and only the first of them is a warning', async () => {
  const lines: string[] = [];
  const write = (level: string) => (fields: Record<string, unknown>) => {
    lines.push(`${level} ${fields['agent_id']}`);
  };
  const log: Log = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
  await withNode(
    async (node) => {
      const ids = new Set<unknown>();
      for (let index = 0; index < 8; index += 1) {
        const { json } = await node.send('POST', PATH, memory(`t${index}`));
        assert.match(json!['agent_id'] as string, /^anonymous:req-[0-9a-f]{8}$/);
        ids.add(json!['agent_id']);
      }
      assert.equal(ids.size, 8);
      assert.equal(lines.filter((line) => line.startsWith('warn anonymous:req-')).length, 1);
      assert.equal(lines.filter((line) => line.startsWith('debug anonymous:req-')).length, 7);
    },
    {},
    { wrap: (services) => ({ ...services, log }) },
  );
});

test('an unsigned write is refused while attestation is required', () =>
  withNode(
    async (node) => {
      const before = await node.counts();
      const answer = await node.send('POST', PATH, memory('t'), { 'x-agent-id': 'alice' });
      assert.deepEqual([answer.status, answer.json!['code']], [403, 'ATTESTATION_FAILED']);
      assert.deepEqual(await node.counts(), before);
    },
    { requireAttestation: true },
  ));

test('a presented signature is judged whether or not attestation is required', () =>
  withNode(async (node) => {
    const without = await node.send('POST', PATH, memory('t', { signature: 'AAAA' }));
    assert.deepEqual([without.status, without.json!['code']], [400, 'VALIDATION_FAILED']);
    const stale = memory('t', { signature: 'AAAA', created_at: '2020-01-01T00:00:00Z' });
    const refused = await node.send('POST', PATH, stale);
    assert.deepEqual([refused.status, refused.json!['code']], [403, 'ATTESTATION_FAILED']);
  }));

test('with an API key, everything but health needs it', async () => {
  const warnings: string[] = [];
  const quiet = () => {};
  const log: Log = {
    debug: quiet,
    info: quiet,
    error: quiet,
    warn: (_fields, message) => {
      if (message.includes('query string')) warnings.push(message);
    },
  };
  await withNode(
    async (node) => {
      assert.equal((await node.send('GET', '/health')).status, 200);
      assert.equal((await node.send('GET', '/api/v1/health')).status, 200);
      const before = await node.counts();
      for (const headers of [{}, { 'x-api-key': '' }]) {
        for (const path of ['/metrics', '/openapi.json', '/api/v1/memories', '/api/v1/capabilities']) {
          const answer = await node.send('GET', path, undefined, headers as Record<string, string>);
          assert.equal(answer.status, 401);
          assert.deepEqual(answer.json, { error: 'missing or invalid API key', code: 'UNAUTHORIZED' });
        }
        assert.equal(
          (await node.send('POST', PATH, memory('t'), headers as Record<string, string>)).status,
          401,
        );
      }
      for (const wrong of ['sesame-wrong', 'sesam']) {
        assert.equal((await node.send('POST', PATH, memory('t'), { 'x-api-key': wrong })).status, 401);
      }
      assert.deepEqual(await node.counts(), before);
      const key = { 'x-api-key': 'sesame' };
      assert.equal((await node.send('POST', PATH, memory('t'), key)).status, 201);
      assert.equal((await node.send('GET', `${PATH}?api_key=sesame`)).status, 200);
      assert.equal((await node.send('GET', `${PATH}?api_key=sesame`)).status, 200);
      assert.equal((await node.send('GET', `${PATH}?api_key=wrong`)).status, 401);
      const both = await node.send('GET', `${PATH}?api_key=sesame`, undefined, { 'x-api-key': 'wrong' });
      assert.equal(both.status, 401, 'the header is the canonical place');
      assert.equal(warnings.length, 1, 'the deprecated place is warned of once');
      assert.equal(warnings[0]!.includes('sesame'), false);
    },
    { apiKey: 'sesame' },
    { wrap: (services) => ({ ...services, log }) },
  );
});

test('admin routes need a member of the admin set, believed only with a key or by leave', async () => {
  const stats = async (node: HttpNode, headers: Record<string, string>) => {
    const answer = await node.send('GET', '/api/v1/stats', undefined, headers);
    return [answer.status, answer.json!['code']];
  };
  const refused = [403, 'ADMIN_REQUIRED'];
  await withNode(async (node) => assert.deepEqual(await stats(node, { 'x-agent-id': 'root' }), refused));
  await withNode(async (node) => assert.deepEqual(await stats(node, { 'x-agent-id': 'root' }), refused), {
    adminAgentIds: ['root'],
  });
  await withNode(
    async (node) => {
      assert.deepEqual(await stats(node, { 'x-agent-id': 'root' }), [200, undefined]);
      assert.deepEqual(await stats(node, { 'x-agent-id': 'alice' }), refused);
      assert.deepEqual(await stats(node, {}), refused);
    },
    { adminAgentIds: ['root'], adminHeaderTrust: true },
  );
  await withNode(
    async (node) => {
      assert.deepEqual(await stats(node, { 'x-agent-id': 'root', 'x-api-key': 'k' }), [200, undefined]);
      assert.deepEqual(await stats(node, { 'x-agent-id': 'root' }), [401, 'UNAUTHORIZED']);
    },
    { adminAgentIds: ['root'], apiKey: 'k' },
  );
});

test('an admin sees every row on admin routes alone, and nobody else does', () => {
  const quiet = () => {};
  const log: Log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
  const random: Random = { uuid: () => '12345678-0', bytes: () => new Uint8Array(), unit: () => 0 };
  const settings = { adminAgentIds: ['root'], adminHeaderTrust: true, apiKey: null };
  const callers = httpCallers(settings, random, log);
  const all = (header: string | undefined, adminRoute: boolean) => {
    const caller = callers(header, null, adminRoute);
    assert.ok(caller.ok);
    return caller.value.viewer.all;
  };
  assert.equal(all('root', true), true);
  assert.equal(all('root', false), false);
  assert.equal(all('alice', true), false);
  assert.equal(all(undefined, true), false);
});
