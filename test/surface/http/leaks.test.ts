import assert from 'node:assert/strict';
import { createConnection } from 'node:net';
import { after, before, test } from 'node:test';
import { OPERATIONS } from '../../../node/operations/registry.js';
import { event, within } from '../../support/wait.js';
import { type HttpNode, openHttpNode } from './http-node.js';

const SECRET = 'kumquat';
const alice = { 'x-agent-id': 'ai:alice' };
const bob = { 'x-agent-id': 'ai:bob' };

let node: HttpNode;
let secretId: string;
before(async () => {
  node = await openHttpNode({ adminAgentIds: ['ai:alice'], adminHeaderTrust: true });
  const secret = {
    title: 'plan',
    content: `${SECRET} merger`,
    scope: 'private',
    tags: ['hr'],
    namespace: 'a',
  };
  const stored = await node.send('POST', '/api/v1/memories', secret, alice);
  secretId = String(stored.json?.['id']);
  await node.send('POST', '/api/v1/memories', { title: 'open', content: 'nothing to hide' }, alice);
  await node.send('GET', `/api/v1/recall?q=${SECRET}`, undefined, alice);
  const pinned = await node.send('POST', '/api/v1/namespaces', { namespace: 'a', id: secretId }, alice);
  assert.equal(pinned.status, 201);
  const entity = {
    canonical_name: SECRET,
    namespace: 'a',
    aliases: ['nick'],
    metadata: { scope: 'private' },
  };
  assert.equal((await node.send('POST', '/api/v1/entities', entity, alice)).status, 201);
});
after(() => node.close());

/** Inputs that would reach the private row if any read did; an operation without one here is called with nothing. */
const PROBES: Readonly<Record<string, readonly Record<string, string | boolean>[]>> = {
  memory_get: [{ id: 'SECRET' }, { id: 'PREFIX' }],
  memory_list: [{ namespace: 'a' }, { tags: 'hr' }, { agent_id: 'ai:alice' }],
  memory_search: [{ query: SECRET }, { query: 'plan', namespace: 'a' }],
  memory_recall: [{ context: SECRET }, { context: SECRET, tags: 'hr' }, { context: SECRET, namespace: 'a' }],
  memory_recall_observations: [{}, { consumed: false }],
  memory_recalls: [{}, { outcome: 'none' }],
  memory_load_family: [{ family: 'core' }],
  memory_smart_load: [{ intent: `about ${SECRET}` }],
  memory_check_duplicate: [{ title: 'plan', content: `${SECRET} merger`, namespace: 'a' }],
  memory_contradictions: [{ namespace: 'a' }, { topic: 'plan' }],
  memory_archive_list: [{ namespace: 'a' }],
  memory_entity_get_by_alias: [{ alias: 'nick' }, { alias: 'nick', namespace: 'a' }],
  memory_namespaces: [{ namespace: 'a' }, { namespace: 'a/b', inherit: true }],
  memory_namespace_get_standard: [{ namespace: 'a' }, { namespace: 'b', inherit: true }],
};

for (const operation of OPERATIONS.filter(({ effect, http }) => effect === 'read' && http !== undefined)) {
  for (const probe of PROBES[operation.name] ?? [{}]) {
    test(`${operation.name} ${JSON.stringify(probe)} shows nothing of another tenant's private row`, async () => {
      const binding = operation.http!.at(-1)!;
      const rest: Record<string, string | boolean> = { ...probe };
      const path = binding.path.replace(/\{(\w+)\}/g, (_, field: string) => {
        const given = rest[field];
        delete rest[field];
        if (given === 'PREFIX') return secretId.slice(0, 8);
        return given === undefined || given === 'SECRET' ? secretId : String(given);
      });
      const inBody = binding.fields === 'body';
      const query = inBody ? '' : `?${new URLSearchParams(rest as Record<string, string>)}`;
      const answer = await node.send(
        binding.method,
        `/api/v1${path}${query}`,
        inBody ? rest : undefined,
        bob,
      );
      // 503: what needs the embedder, in keyword mode.
      assert.ok(answer.status < 500 || answer.status === 503, answer.text);
      const shown = answer.text.replaceAll(`about ${SECRET}`, '').replace(/"query":"\w+"/g, '');
      for (const trace of [SECRET, secretId, '"plan"', 'ai:alice"]']) {
        assert.ok(!shown.includes(trace), `${trace} in ${answer.text}`);
      }
    });
  }
}

test('what recall counts does not tell which words stand in the rows of others', async () => {
  const counted = async (word: string) => {
    const { json } = await node.send('GET', `/api/v1/recall?q=${word}`, undefined, bob);
    assert.ok(json !== null);
    return (json['meta'] as { candidate_counts: unknown }).candidate_counts;
  };
  assert.deepEqual(await counted(SECRET), await counted('durian'));
});

test('a filter of more tags than a memory can have is refused, not worked through', async () => {
  const tags = Array.from({ length: 100_000 }, (_, n) => `t${n}`);
  const answer = await node.send('POST', '/api/v1/recall', { context: 'x', tags });
  assert.equal(answer.status, 400);
  assert.equal(answer.json?.['code'], 'VALIDATION_FAILED');
});

test('metadata that decides who may read must be text', async () => {
  for (const metadata of [
    { scope: true },
    { scope: 5 },
    { target_agent_id: 7 },
    { recipient_agent_id: {} },
  ]) {
    const answer = await node.send(
      'POST',
      '/api/v1/memories',
      { title: 'odd', content: 'x', metadata },
      alice,
    );
    assert.equal(answer.status, 400, answer.text);
  }
});

test('a drain answers every pipelined request whose row it stored', async () => {
  const own = await openHttpNode();
  const requests = Array.from({ length: 100 }, (_, n) => {
    const body = JSON.stringify({ title: `pipelined ${n}`, content: 'x' });
    return `POST /api/v1/memories HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  });
  const socket = createConnection({ host: '127.0.0.1', port: own.port });
  let received = '';
  const ended = event('the drain ends the connection', socket, 'close');
  const first = new Promise<void>((resolve) => {
    socket.setEncoding('utf8').on('data', (text: string) => {
      received += text;
      resolve();
    });
  });
  socket.write(requests.join(''));
  await within('the first answer comes', first);
  await own.surface.drain(10_000);
  await ended;
  const stored = received.match(/HTTP\/1\.1 201 /g)?.length ?? 0;
  assert.equal(stored, (await own.counts()).rows);
  assert.equal(received.match(/HTTP\/1\.1 /g)?.length, requests.length, 'each request has its answer');
  await own.close();
});
