import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { OPERATIONS } from '../../../node/operations/registry.js';
import { systemClock, systemScheduler } from '../../../node/seams.js';
import { BuiltinEmbedder } from '../../../node/semantics/encoder/builtin-embedder.js';
import { LocalSemantics } from '../../../node/semantics/local-semantics.js';
import { RULE_SUMMARY_MAX } from '../../../protocol/base/rule-limits.js';
import { SCHEMA_VERSION } from '../../../protocol/base/schema-version.js';
import { VectorClient } from '../../../storage/vectors/vector-client.js';
import { recordingLog } from '../../storage/vectors/real-seams.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { aRule } from '../../support/rules.js';
import { openBeside, testPlace } from '../../support/test-store.js';
import { type HttpNode, openHttpNode } from './http-node.js';

type Json = Record<string, unknown>;
const PATH = '/api/v1/capabilities';
const ADMIN = 'ai:admin';
const keys = (value: unknown) => Object.keys(value as Json).sort();

async function withNode(run: (node: HttpNode) => Promise<void>, ...options: Parameters<typeof openHttpNode>) {
  const node = await openHttpNode(...options);
  try {
    await run(node);
  } finally {
    await node.close();
  }
}

const accepting = async (node: HttpNode, accept?: string): Promise<Json> => {
  const headers = accept === undefined ? {} : { 'accept-capabilities': accept };
  const answer = await node.send('GET', PATH, undefined, headers as Record<string, string>);
  assert.equal(answer.status, 200, answer.text);
  return answer.json!;
};

const FLAGS = [
  'auto_consolidation',
  'auto_tagging',
  'contradiction_analysis',
  'cross_encoder_reranking',
  'embedder_loaded',
  'hybrid_recall',
  'keyword_search',
  'memory_reflection',
  'query_expansion',
  'semantic_search',
];
const V1 = [
  'db_schema_version',
  'features',
  'models',
  'schema_version',
  'storage_backend',
  'tier',
  'version',
];
const V2 = [
  ...V1,
  'approval',
  'compaction',
  'degraded',
  'families',
  'graph_engine',
  'hnsw',
  'hooks',
  'memory_kinds',
  'pending_embeddings',
  'permissions',
  'transcripts',
];
const V3 = [
  'writes_through',
  ...V2,
  'active_rule_count',
  'agent_permitted_families',
  'atomisation',
  'confidence_calibration',
  'dlq_depth',
  'embedder_loaded',
  'federation',
  'forensic',
  'governance',
  'hnsw_evictions',
  'memory_kind_vocab',
  'pending_requests',
  'provenance_substrate_layer',
  'recall_mode_active',
  'reflection',
  'reranker_active',
  'skills',
  'summary',
  'to_describe_to_user',
  'tools',
  'your_harness_supports_deferred_registration',
];

test('Accept-Capabilities chooses the shape, trimmed and in any case; anything else is v3', () =>
  withNode(async (node) => {
    for (const accept of ['v1', '1', ' V1 ', '\t1']) {
      const body = await accepting(node, accept);
      assert.equal(body['schema_version'], '1', accept);
      assert.deepEqual(keys(body), [...V1].sort());
      assert.deepEqual(keys(body['features']), FLAGS);
      assert.equal(typeof (body['features'] as Json)['memory_reflection'], 'boolean');
      assert.deepEqual(body['models'], {
        embedding: 'none',
        embedding_dim: 0,
        llm: 'none',
        cross_encoder: 'none',
      });
    }
    for (const accept of ['v2', '2', 'V2']) {
      const body = await accepting(node, accept);
      assert.equal(body['schema_version'], '2');
      assert.deepEqual(
        keys(body).filter((key) => key !== 'kg_backend'),
        [...V2].sort(),
      );
      const features = body['features'] as Json;
      assert.deepEqual(
        keys(features),
        [...FLAGS, 'recall_mode_active', 'reflection_boost', 'reranker_active'].sort(),
      );
      assert.deepEqual(keys(features['memory_reflection']), ['enabled', 'planned', 'version']);
    }
    for (const accept of [undefined, '', 'v3', '3', 'v4', 'v1,v2', 'gzip', '1.0']) {
      const body = await accepting(node, accept);
      assert.equal(body['schema_version'], '3', accept);
      assert.deepEqual(
        keys(body).filter((key) => key !== 'kg_backend'),
        [...V3].sort(),
      );
    }
    const query = await node.send('GET', `${PATH}?accept=v1`);
    assert.deepEqual(
      [query.status, query.json?.['code']],
      [400, 'UNKNOWN_FIELD'],
      'the header chooses on HTTP',
    );
  }));

test('the report promises nothing that this node does not have', () =>
  withNode(async (node) => {
    const body = await accepting(node);
    const tools = body['tools'] as { name: string; loaded: boolean; callable_now: boolean }[];
    const names = OPERATIONS.filter(({ mcp }) => mcp !== undefined).map(({ name }) => name);
    assert.deepEqual(
      tools.map(({ name }) => name),
      names,
    );
    assert.ok(tools.every((tool) => tool.loaded && tool.callable_now));
    assert.equal(body['recall_mode_active'], 'keyword_only');
    assert.equal(body['embedder_loaded'], false);
    assert.deepEqual((body['permissions'] as Json)['mode'], 'enforce');
    for (const counter of ['active_rule_count', 'pending_requests', 'hnsw_evictions', 'dlq_depth']) {
      assert.equal(typeof body[counter], 'number', counter);
    }
    const has = (name: string) => names.includes(name);
    const planned = (exists: boolean) => [!exists, exists];
    const state = (value: unknown) => [(value as Json)['planned'], (value as Json)['enabled']];
    const features = body['features'] as Json;
    assert.deepEqual(state(features['memory_reflection']), planned(has('memory_reflect')));
    assert.deepEqual(state(body['transcripts']), planned(has('memory_replay')));
    assert.deepEqual((body['skills'] as Json)['implemented'], has('memory_skill_register'));
    assert.deepEqual((body['atomisation'] as Json)['tool'], has('memory_atomise'));
    const { families } = body['families'] as {
      families: { name: string; tools: string[]; tool_count: number }[];
    };
    assert.deepEqual(
      families.map(({ name }) => name),
      ['core', 'lifecycle', 'graph', 'governance', 'power', 'meta', 'archive', 'other'],
    );
    assert.deepEqual(families.flatMap((family) => family.tools).sort(), [...names].sort());
    assert.equal(families[0]!.tool_count, 7);
  }));

test('its figures are those of the moment', () =>
  withNode(
    async (node) => {
      const seenBy = async (agent: string, accept = 'v3') => {
        const headers = { 'x-agent-id': agent, 'accept-capabilities': accept };
        return (await node.send('GET', PATH, undefined, headers)).json!;
      };
      const summaryOf = async (agent: string, accept?: string) =>
        ((await seenBy(agent, accept))['permissions'] as Json)['rule_summary'];
      const govern = (agent: string, namespace: string, governance: Json) =>
        node.send('POST', '/api/v1/namespaces', { namespace, governance }, { 'x-agent-id': agent });
      assert.deepEqual(await summaryOf(ADMIN), []);
      await govern('ai:alice', 'alice/notes', {
        write: 'registered',
        delete: 'approve',
        approver: { agent: 'ai:bob' },
        inherit: false,
      });
      await govern(ADMIN, '*', { write: 'any', delete: 'approve', approver: { consensus: 2 } });
      const everybody =
        '* — write=any, promote=any, delete=approve, read=any, approver=consensus:2, inherit=true';
      const own =
        'alice/notes — write=registered, promote=any, delete=approve, read=any, approver=agent:ai:bob, inherit=false';
      for (const accept of ['v2', 'v3']) {
        assert.deepEqual(await summaryOf(ADMIN, accept), [everybody, own]);
        assert.deepEqual(await summaryOf('ai:alice', accept), [everybody, own]);
        // The name of a namespace is not for everybody.
        assert.deepEqual(await summaryOf('ai:mallory', accept), [everybody]);
      }
      const rule = aRule('no-force');
      await node.services.store.execute({ kind: 'put-rule', rule, replaces: null, by: ADMIN });
      const ruled = await seenBy('ai:mallory');
      assert.equal(ruled['active_rule_count'], 1);
      assert.deepEqual((ruled['permissions'] as Json)['rule_summary'], [
        everybody,
        'no-force — refuse bash, namespace=_global',
      ]);
      await node.send('DELETE', '/api/v1/namespaces?namespace=*', undefined, { 'x-agent-id': ADMIN });
      await node.services.store.execute({ kind: 'remove-rule', id: 'no-force', signature: null, by: ADMIN });
      assert.deepEqual(await summaryOf('ai:mallory'), []);
    },
    { adminAgentIds: [ADMIN], adminHeaderTrust: true },
  ));

test('the version of the schema is that of the file, also where a later release has upgraded it', async () => {
  const home = temporaryFolder('capabilities-schema');
  const dbPath = join(home, 'mnemesh.db');
  await withNode(
    async (node) => {
      assert.equal((await accepting(node))['db_schema_version'], SCHEMA_VERSION);
      const later = openBeside({ path: dbPath });
      later.prepare('INSERT INTO schema_version VALUES (?, ?)').run(SCHEMA_VERSION + 1, 'now');
      later.close();
      for (const accept of ['v1', 'v2', 'v3'])
        assert.equal((await accepting(node, accept))['db_schema_version'], SCHEMA_VERSION + 1, accept);
    },
    { home, dbPath },
  );
});

test('the summary of policies is bounded, and says how many it leaves out', () =>
  withNode(
    async (node) => {
      const headers = { 'x-agent-id': ADMIN };
      for (let n = 0; n < RULE_SUMMARY_MAX + 3; n += 1) {
        const body = { namespace: `team/${n}`, governance: { write: 'owner' } };
        assert.equal((await node.send('POST', '/api/v1/namespaces', body, headers)).status, 201);
      }
      const { json } = await node.send('GET', PATH, undefined, headers);
      const lines = (json!['permissions'] as Json)['rule_summary'] as string[];
      assert.deepEqual([lines.length, lines.at(-1)], [RULE_SUMMARY_MAX + 1, '… and 3 more policies']);
    },
    { adminAgentIds: [ADMIN], adminHeaderTrust: true },
  ));

test('a node whose store is gone says that nothing can be called', () =>
  withNode(
    async (node) => {
      const body = await accepting(node);
      assert.ok((body['tools'] as { callable_now: boolean }[]).every((tool) => !tool.callable_now));
      assert.match(String(body['summary']), /^0 of /);
      assert.deepEqual(body['degraded'], [{ part: 'writer', reason: 'gone' }]);
    },
    {},
    {
      wrap: (services) => ({
        ...services,
        condition: () => ({
          ready: false,
          degraded: [{ part: 'writer', reason: 'gone' }],
          pendingEmbeddings: null,
          writer: 'daemon',
        }),
      }),
    },
  ));

/** An embedder's thread that answers until it is asked about the last straw, which kills it. */
const MORTAL_THREAD = `
import { parentPort } from 'node:worker_threads';
parentPort.on('message', ({ id, texts }) => {
  if (texts.some((text) => text.includes('straw'))) process.exit(1);
  const vectors = new Float32Array(texts.length * 512);
  for (let row = 0; row < texts.length; row += 1) vectors[row * 512] = 1;
  parentPort.postMessage({ kind: 'embedded', id, vectors });
});
parentPort.postMessage({ kind: 'loaded' });
`;

test('when the embedder dies, the next report says degraded and not loaded, and so does health', async () => {
  const home = temporaryFolder('capabilities');
  const seams = { clock: systemClock, scheduler: systemScheduler };
  const entry = new URL(`data:text/javascript,${encodeURIComponent(MORTAL_THREAD)}`);
  const embedder = new BuiltinEmbedder({ ...seams, log: recordingLog(), entry });
  const dbPath = join(home, 'mnemesh.db');
  const place = testPlace(dbPath);
  const vectors = new VectorClient({ ...seams, place, model: embedder.model, dim: embedder.dim });
  let semantic: LocalSemantics | null = null;
  await withNode(
    async (node) => {
      await node.send('POST', '/api/v1/memories', { title: 'Pet', content: 'The cat sleeps on the sofa.' });
      const recall = (q: string) => node.send('GET', `/api/v1/recall?q=${q}`);
      await recall('cat');
      const alive = await accepting(node);
      assert.deepEqual([alive['recall_mode_active'], alive['embedder_loaded']], ['hybrid', true]);
      assert.deepEqual(
        [(alive['features'] as Json)['semantic_search'], (alive['models'] as Json)['embedding_dim']],
        [true, 512],
      );
      assert.equal((await node.send('GET', '/health')).json?.['embedder_ready'], true);

      const killed = await recall('straw+cat');
      assert.equal(killed.json?.['mode'], 'keyword');
      const dead = await accepting(node);
      assert.deepEqual([dead['recall_mode_active'], dead['embedder_loaded']], ['degraded', false]);
      assert.equal(dead['tier'], 'keyword');
      const features = dead['features'] as Json;
      assert.deepEqual([features['semantic_search'], features['recall_mode_active']], [false, 'degraded']);
      const v1 = (await accepting(node, 'v1'))['features'] as Json;
      assert.deepEqual([v1['hybrid_recall'], v1['embedder_loaded']], [false, false]);
      assert.equal(typeof dead['embedder_error'], 'string');
      assert.equal((await node.send('GET', '/health')).json?.['embedder_ready'], false);
    },
    { home, dbPath },
    {
      wrap: (services) => {
        semantic = new LocalSemantics(embedder, vectors, services.store, systemClock);
        return { ...services, semantic };
      },
    },
  );
  await (semantic as LocalSemantics | null)?.close();
});

test('GET /tools/list answers what an MCP server of this node lists, with the key alone', async () => {
  await withNode(
    async (node) => {
      assert.equal((await node.send('GET', '/api/v1/tools/list')).status, 401);
      const answer = await node.send('GET', '/api/v1/tools/list', undefined, { 'x-api-key': 'k' });
      const tools = answer.json!['tools'] as { name: string; inputSchema: Json }[];
      assert.equal(tools.length, 7);
      assert.ok(tools.every(({ inputSchema }) => inputSchema['type'] === 'object'));
      const bare = await node.send('GET', '/tools/list', undefined, { 'x-api-key': 'k' });
      assert.equal(bare.status, 404);
    },
    { apiKey: 'k' },
  );
  await withNode(
    async (node) => {
      const { json } = await node.send('GET', '/api/v1/tools/list');
      assert.equal(
        (json!['tools'] as unknown[]).length,
        OPERATIONS.filter(({ mcp }) => mcp !== undefined).length,
      );
    },
    { profile: 'full' },
  );
});
