import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { VERSION } from '../../../node/version.js';
import { within } from '../../support/wait.js';
import { type HttpNode, openHttpNode } from './http-node.js';

let node: HttpNode;
const ALICE = { 'x-agent-id': 'alice' };
const ADMIN = { 'x-agent-id': 'root' };

before(async () => {
  node = await openHttpNode({ adminAgentIds: ['root'], adminHeaderTrust: true });
});
after(() => node.close());

async function store(title: string, more: Record<string, unknown> = {}): Promise<string> {
  const answer = await node.send(
    'POST',
    '/api/v1/memories',
    { title, content: `about ${title}`, ...more },
    ALICE,
  );
  assert.equal(answer.status, 201, answer.text);
  return answer.json!['id'] as string;
}

test('stores, reads, changes, promotes and deletes a memory', async () => {
  const stored = await node.send(
    'POST',
    '/api/v1/memories',
    { title: 'Deploy window', content: 'Sundays', namespace: 'team/ops', memory_kind: 'decision' },
    ALICE,
  );
  assert.equal(stored.status, 201);
  const { id, expires_at: expiresAt, ...rest } = stored.json!;
  assert.deepEqual(rest, { tier: 'mid', namespace: 'team/ops', title: 'Deploy window', agent_id: 'alice' });

  const read = await node.send('GET', `/api/v1/memories/${String(id).slice(0, 13)}`, undefined, ALICE);
  assert.equal(read.status, 200);
  const memory = read.json!['memory'] as Record<string, unknown>;
  assert.equal(memory['kind'], 'decision');
  assert.equal(memory['expires_at'], expiresAt);
  assert.deepEqual(read.json!['links'], []);

  const update = { priority: 9, agent_id: 'alice' };
  const changed = await node.send('PUT', `/api/v1/memories/${id}`, update, { ...ALICE, 'if-match': '"1"' });
  assert.equal(changed.status, 200, changed.text);
  assert.equal(changed.json!['priority'], 9);
  assert.equal(changed.json!['version'], 2);

  const stale = await node.send(
    'PUT',
    `/api/v1/memories/${id}`,
    { priority: 1 },
    { ...ALICE, 'if-match': '1' },
  );
  assert.deepEqual([stale.status, stale.json!['code']], [409, 'VERSION_CONFLICT']);

  const promoted = await node.send('POST', `/api/v1/memories/${id}/promote`, undefined, ALICE);
  assert.deepEqual(promoted.json, { promoted: true, mode: 'tier', id, tier: 'long' });

  const deleted = await node.send('DELETE', `/api/v1/memories/${id}`, undefined, ALICE);
  assert.equal(deleted.status, 200);
  assert.equal(deleted.json!['deleted'], true);
  const gone = await node.send('GET', `/api/v1/memories/${id}`, undefined, ALICE);
  assert.deepEqual([gone.status, gone.json!['code']], [404, 'NOT_FOUND']);
});

test('answers 409 with the existing id for a taken title', async () => {
  const id = await store('taken');
  const again = await node.send('POST', '/api/v1/memories', { title: 'taken', content: 'x' }, ALICE);
  assert.equal(again.status, 409);
  assert.equal(again.json!['code'], 'CONFLICT');
  assert.equal(again.json!['existing_id'], id);
  assert.equal(typeof again.json!['error'], 'string');
});

test('lists with filters from the query, coerced to their types', async () => {
  await store('low', { namespace: 'lists', priority: 1, tags: ['a'], content: 'harbour' });
  await store('high', {
    namespace: 'lists',
    priority: 9,
    tags: ['b', 'c'],
    kind: 'decision',
    content: 'harbour',
  });
  const titles = async (query: string) => {
    const answer = await node.send('GET', `/api/v1/memories?namespace=lists&${query}`, undefined, ALICE);
    assert.equal(answer.status, 200, answer.text);
    return (answer.json!['memories'] as { title: string }[]).map((memory) => memory.title);
  };
  assert.deepEqual(await titles(''), ['high', 'low']);
  assert.deepEqual(await titles('limit=1'), ['high']);
  assert.deepEqual(await titles('limit=1&offset=1'), ['low']);
  assert.deepEqual(await titles('min_priority=5'), ['high']);
  assert.deepEqual(await titles('tags=a,c'), ['high', 'low']);
  assert.deepEqual(await titles('tags=a'), ['low']);
  assert.deepEqual(await titles('kinds=decision'), ['high']);
  assert.deepEqual(await titles('kinds=observation,Decision'), ['high', 'low']);
  assert.deepEqual(await titles('kinds=all'), ['high', 'low']);
  assert.deepEqual(await titles('kinds=concept'), []);
  const found = await node.send(
    'GET',
    '/api/v1/search?q=harbour&namespace=lists&kinds=decision',
    undefined,
    ALICE,
  );
  assert.deepEqual(
    (found.json!['results'] as { title: string }[]).map(({ title }) => title),
    ['high'],
  );
  assert.deepEqual(await titles('agent_id=alice'), ['high', 'low'], 'a filter, for whoever asks');
  assert.deepEqual(await titles('agent_id=bob'), []);
});

test('recalls by every name of the context, over GET and POST, and renders TOON as text', async () => {
  await store('cuttlefish habits', { namespace: 'sea' });
  for (const name of ['context', 'query', 'q']) {
    const got = await node.send('GET', `/api/v1/recall?${name}=cuttlefish+habits&namespace=sea`);
    assert.equal(got.status, 200, got.text);
    assert.equal(got.json!['count'], 1);
    const posted = await node.send('POST', '/api/v1/recall', {
      [name]: 'cuttlefish habits',
      namespace: 'sea',
    });
    assert.equal(posted.json!['count'], 1);
  }
  const toon = await node.send('GET', '/api/v1/recall?q=cuttlefish&format=toon_compact');
  assert.equal(toon.headers.get('content-type'), 'text/plain; charset=utf-8');
  assert.match(
    toon.text,
    /^count:1\|mode:keyword\|tokens_used:\d+\nmemories\[id\|.*\n[^\n]*\|cuttlefish habits\|[^\n]*\n$/,
  );
  const empty = await node.send('POST', '/api/v1/recall', { context: 'cuttlefish', budget_tokens: 0 });
  assert.deepEqual(empty.json!['memories'], []);
});

test('searches, in JSON and TOON', async () => {
  await store('nautilus shell');
  const found = await node.send('GET', '/api/v1/search?q=nautilus');
  assert.equal(found.status, 200);
  assert.deepEqual([found.json!['count'], found.json!['query']], [1, 'nautilus']);
  const toon = await node.send('GET', '/api/v1/search?q=nautilus&format=toon');
  assert.match(toon.text, /^count:1\nmemories\[id\|title\|/);
});

test('answers the other routes', async () => {
  const family = await node.send('POST', '/api/v1/memory_load_family', { family: 'core' });
  assert.equal(family.status, 200);
  const smart = await node.send('POST', '/api/v1/memory_smart_load', { intent: 'delete a memory' });
  assert.equal(smart.json!['chosen_family'], 'lifecycle');
  const capabilities = await node.send('GET', '/api/v1/capabilities');
  assert.equal(capabilities.json!['schema_version'], '3');
  const stats = await node.send('GET', '/api/v1/stats', undefined, ADMIN);
  assert.equal(stats.status, 200);
  assert.equal(typeof stats.json!['total'], 'number');
});

test('health answers bare and under the prefix, HEAD too, and names the service', async () => {
  for (const path of ['/health', '/api/v1/health']) {
    const answer = await node.send('GET', path);
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.json, {
      status: 'ok',
      service: 'mnemesh',
      version: VERSION,
      embedder_ready: false,
    });
    const head = await node.send('HEAD', path);
    assert.deepEqual([head.status, head.text], [200, '']);
    assert.equal(head.headers.get('content-length'), answer.headers.get('content-length'));
  }
});

test('health is 503 while the store does not answer', async () => {
  const sick = await openHttpNode(
    {},
    {
      wrap: (services) => ({
        ...services,
        condition: () => ({ ready: false, degraded: [], pendingEmbeddings: 4, writer: 'daemon' }),
      }),
    },
  );
  try {
    const answer = await sick.send('GET', '/health');
    assert.deepEqual([answer.status, answer.json!['status']], [503, 'error']);
    assert.match((await sick.send('GET', '/metrics')).text, /^svc_memories_pending_embedding 4$/m);
  } finally {
    await sick.close();
  }
});

test('an unknown route is 404 and a wrong method 405 with Allow, both in JSON', async () => {
  for (const path of ['/', '/api/v1', '/api/v1/', '/api/v1/memories/', '/api/v1/memories/x/y', '/memories']) {
    const answer = await node.send('GET', path);
    assert.deepEqual([answer.status, answer.json?.['code']], [404, 'ROUTE_NOT_FOUND'], path);
    assert.equal(answer.json?.['error'], 'this node has no such route: GET /docs shows those that it has');
    assert.equal(answer.headers.get('content-type'), 'application/json');
  }
  const wrong = await node.send('PATCH', '/api/v1/memories/x', {});
  assert.deepEqual([wrong.status, wrong.json!['code']], [405, 'METHOD_NOT_ALLOWED']);
  assert.deepEqual(wrong.headers.get('allow')!.split(', ').sort(), ['DELETE', 'GET', 'HEAD', 'PUT']);
  assert.equal((await node.send('OPTIONS', '/health')).status, 405);
});

test('metrics count requests by operation and status, and process metrics come with the first scrape', async () => {
  await store('counted');
  await node.send('GET', '/api/v1/memories/none');
  for (const path of ['/metrics', '/api/v1/metrics']) {
    const { status, text, headers } = await node.send('GET', path);
    assert.equal(status, 200);
    assert.equal(headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
    assert.match(text, /^svc_requests_total\{operation="memory_store",status="201"\} [1-9]/m);
    assert.match(text, /^svc_requests_total\{operation="memory_get",status="404"\} [1-9]/m);
    assert.match(text, /^svc_request_duration_seconds_count\{operation="memory_store"\} [1-9]/m);
    assert.match(text, /^svc_requests_inflight 1$/m);
    assert.match(text, /^process_cpu_seconds_total /m);
    assert.match(text, /^# TYPE svc_actor_restarts_total counter$/m);
    assert.match(text, /^svc_touches_dropped_total 0$/m);
  }
});

test('sheds beyond the cap of requests under way, health and metrics excepted', async () => {
  let release!: () => void;
  let entered!: () => void;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const inside = new Promise<void>((resolve) => {
    entered = resolve;
  });
  const busy = await openHttpNode(
    {},
    {
      inflightMax: 1,
      wrap: (services) => ({
        ...services,
        store: {
          execute: (command) => services.store.execute(command),
          selfCheck: (cursor) => services.store.selfCheck(cursor),
          close: () => services.store.close(),
          query: async (query) => {
            entered();
            await held;
            return services.store.query(query);
          },
        },
      }),
    },
  );
  try {
    const first = busy.send('GET', '/api/v1/memories');
    await within('the request reaches the store', inside);
    const shed = await busy.send('GET', '/api/v1/memories');
    assert.equal(shed.status, 503);
    assert.deepEqual(shed.json, { error: 'server_overloaded', code: 'OVERLOADED', max_inflight: 1 });
    assert.equal(shed.headers.get('retry-after'), '1');
    assert.equal((await busy.send('GET', '/health')).status, 200);
    assert.match((await busy.send('GET', '/metrics')).text, /^svc_admission_shed_total 1$/m);
    release();
    assert.equal((await first).status, 200);
  } finally {
    release();
    await busy.close();
  }
});
