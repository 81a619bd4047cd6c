import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Validator } from '@seriousme/openapi-schema-validator';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../../support/daemon-process.js';
import { ModelServer } from '../../support/model-server.js';
import { until } from '../../support/wait.js';
import { asking, CALLER, EveryTool, modelSays, VERSIONS } from '../mcp/every-tool.js';

const KEY = 'the key of the node';
type Answer = Record<string, unknown>;
type Headers = Record<string, string>;
/** A method of a path, as the API description has it. */
interface Described {
  readonly requestBody?: { readonly content: Record<string, { readonly example: unknown }> };
  readonly responses: Record<string, { readonly content?: Record<string, unknown> }>;
}

const ACCEPT = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
const initialize = (protocolVersion = '2025-11-25') => ({
  ...{ jsonrpc: '2.0', id: 0, method: 'initialize' },
  params: { protocolVersion, capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
});
const called = (id: number, name: string, args: Answer = {}) => ({
  ...{ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } },
});

/** The messages of a stream of events, and the ids of the events. */
const eventsOf = (text: string) =>
  text
    .split('\n\n')
    .filter((event) => /^data: ./m.test(event))
    .map((event) => ({
      id: /^id: (.*)$/m.exec(event)?.[1] ?? null,
      message: JSON.parse(/^data: (.*)$/m.exec(event)![1]!) as Answer,
    }));

describe('MCP over HTTP', () => {
  let model: ModelServer;
  let daemon: DaemonProcess;
  let url: string;
  before(async () => {
    model = await ModelServer.start('compatible');
    model.says = modelSays;
    daemon = await startDaemonProcess(temporaryFolder('mcp-http'), await freePort(), {
      ...model.environment,
      ...{ SVC_API_KEY: KEY, SVC_ADMIN_AGENT_IDS: CALLER, SVC_EMBED_BACKEND: 'builtin' },
    });
    url = daemon.base.replace('/api/v1', '/mcp');
  });
  after(async () => {
    await daemon.end('SIGTERM');
    await model.close();
  });

  const connect = async (agent: string | null, version = '2025-11-25', query = '?profile=full') => {
    const client = new Client({ name: 'a test', version: '1.0' });
    const headers: Headers = { 'x-api-key': KEY, ...(agent === null ? {} : { 'x-agent-id': agent }) };
    const transport = new StreamableHTTPClientTransport(new URL(url + query), { requestInit: { headers } });
    await client.connect(asking(transport, version) as never);
    return { client, transport };
  };
  const post = (message: unknown, headers: Headers = {}, path = '') =>
    fetch(url + path, {
      ...{ method: 'POST', body: typeof message === 'string' ? message : JSON.stringify(message) },
      headers: { ...ACCEPT, 'x-api-key': KEY, ...headers },
    });
  /** Opens a session by hand, and answers its headers. */
  const session = async (agent = 'ai:raw', path = ''): Promise<Headers> => {
    const opened = await post(initialize(), { 'x-agent-id': agent }, path);
    await opened.text();
    assert.equal(opened.status, 200);
    return { 'mcp-session-id': opened.headers.get('mcp-session-id')!, 'x-agent-id': agent };
  };
  const answerOf = async (client: Client, name: string, args: Answer) => {
    const result = (await client.callTool({ name, arguments: args })) as Answer;
    const [{ text }] = result['content'] as [{ text: string }];
    return { failed: result['isError'] === true, body: JSON.parse(text) as Answer };
  };

  for (const version of VERSIONS) {
    it(`answers every tool as version ${version} promises`, async () => {
      const own = await startDaemonProcess(temporaryFolder('mcp-every'), await freePort(), {
        ...model.environment,
        ...{ SVC_API_KEY: KEY, SVC_ADMIN_AGENT_IDS: CALLER, SVC_EMBED_BACKEND: 'builtin' },
      });
      const shared = url;
      url = own.base.replace('/api/v1', '/mcp');
      const { client } = await connect(CALLER, version);
      const { client: other } = await connect('ai:other', version);
      url = shared;
      try {
        await new EveryTool(client, other, version).all();
      } finally {
        await client.close();
        await other.close();
        await own.end('SIGTERM');
      }
    });
  }

  it('lists the tools of the profile that the address names', async () => {
    for (const [query, count] of [
      ['', 7],
      ['?profile=core', 7],
      ['?profile=', 7],
      ['?profile=graph', 19],
      ['?profile=archive,%20core', 11],
      ['?profile=core,full', 108],
      ['?profile=full', 108],
    ] as const) {
      const { client } = await connect('ai:profile', '2025-06-18', query);
      assert.equal((await client.listTools()).tools.length, count, query);
      await client.close();
    }
    for (const wrong of ['everything', 'Core', 'core,FULL', 'core;graph']) {
      const refused = await post(initialize(), {}, `?profile=${wrong}`);
      assert.equal(refused.status, 400, wrong);
      const { error } = (await refused.json()) as { error: { message: string } };
      assert.match(
        error.message,
        /the profiles are core, graph, admin, power, full, the families core, life/,
      );
    }
  });

  it('is described with what it answers, as every route', async () => {
    const described = await fetch(url.replace('/mcp', '/openapi.json'), { headers: { 'x-api-key': KEY } });
    const document = (await described.json()) as { paths: Record<string, Record<string, Described>> };
    const methods = document.paths['/mcp']!;
    assert.deepEqual(Object.keys(methods).sort(), ['delete', 'get', 'post']);
    const valid = await new Validator().validate(structuredClone(document));
    assert.equal(valid.valid, true, JSON.stringify(valid.errors));
    const fits = async (method: string, answer: Response) => {
      const said = methods[method]!.responses[answer.status];
      const type = answer.headers.get('content-type');
      const types = Object.keys(said?.content ?? {});
      assert.deepEqual(type === null || type === '' ? [] : [type], types, `${method} ${answer.status}`);
      await answer.body?.cancel();
    };
    const example = methods['post']!.requestBody!.content['application/json']!.example;
    const opened = await post(example);
    const own = { ...ACCEPT, 'x-api-key': KEY, 'mcp-session-id': opened.headers.get('mcp-session-id')! };
    assert.equal(opened.status, 200);
    await fits('post', opened);
    await fits('post', await post({ jsonrpc: '2.0', method: 'notifications/initialized' }, own));
    for (const method of ['get', 'delete']) {
      for (const headers of [{ ...own, 'mcp-session-id': 'x' }, own]) {
        await fits(method, await fetch(url, { method: method.toUpperCase(), headers }));
      }
    }
    await fits('post', await post({ jsonrpc: '2.0', id: 1, method: 'ping' }));
  });

  it('takes the key of the node, and no page of another site', async () => {
    const without = await fetch(url, { method: 'POST', headers: ACCEPT, body: JSON.stringify(initialize()) });
    assert.equal(without.status, 401);
    assert.equal((await post(initialize(), { origin: 'https://evil.example' })).status, 403);
    assert.equal((await post(initialize(), { 'sec-fetch-site': 'cross-site' })).status, 403);
    const own = url.replace('/mcp', '');
    assert.equal((await post(initialize(), { origin: own })).status, 200);
  });

  it('binds a session to the agent that opened it', async () => {
    const mine = await session('ai:mine');
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const { 'mcp-session-id': id } = mine;
    for (const other of [{ 'x-agent-id': 'ai:yours' }, {}]) {
      const refused = await post(list, { ...other, 'mcp-session-id': id! });
      assert.equal(refused.status, 404, JSON.stringify(other));
      for (const method of ['GET', 'DELETE']) {
        const headers = { ...ACCEPT, 'x-api-key': KEY, ...other, 'mcp-session-id': id! };
        assert.equal((await fetch(url, { method, headers })).status, 404, method);
      }
    }
    const listed = await post(list, mine);
    assert.equal(listed.status, 200);
    assert.equal(eventsOf(await listed.text())[0]!.message['id'], 1);
    const ended = await fetch(url, { method: 'DELETE', headers: { ...ACCEPT, 'x-api-key': KEY, ...mine } });
    assert.equal(ended.status, 200);
    assert.equal((await post(list, mine)).status, 404);
  });

  it('gives a caller nothing that the other routes refuse', async () => {
    const { client } = await connect('ai:guest');
    const { client: admin } = await connect(CALLER);
    const gc = await answerOf(client, 'memory_gc', { dry_run: true });
    assert.deepEqual([gc.failed, gc.body['code']], [true, 'ADMIN_REQUIRED']);
    assert.equal((await answerOf(admin, 'memory_gc', { dry_run: true })).failed, false);
    const claimed = { title: 't', content: 'c', agent_id: CALLER };
    const other = await answerOf(client, 'memory_store', claimed);
    assert.equal(other.body['code'], 'agent_id_body_header_mismatch');
    const inside = { title: 't', content: 'c', metadata: { agent_id: CALLER } };
    assert.equal((await answerOf(client, 'memory_store', inside)).failed, true);
    const secret = { title: 'secret', content: 'of the admin', scope: 'private', namespace: 'own' };
    const stored = await answerOf(admin, 'memory_store', secret);
    const read = await answerOf(client, 'memory_get', { id: stored.body['id'] });
    assert.equal(read.body['code'], 'NOT_FOUND');
    const listed = { namespace: 'own', agent_id: CALLER, format: 'json' };
    assert.equal((await answerOf(client, 'memory_list', listed)).body['count'], 0);
    const lease = { action_id: '00000000-0000-4000-8000-000000000000', holder: CALLER };
    assert.equal((await answerOf(client, 'memory_lease_acquire', lease)).body['code'], 'FORBIDDEN');
    const { client: nameless } = await connect(null);
    const anonymous = await answerOf(nameless, 'memory_store', { title: 'n', content: 'c' });
    assert.match(String(anonymous.body['agent_id']), /^anonymous:req-/);
    for (const each of [client, admin, nameless]) await each.close();
  });

  it('asks for a signature where the node does', async () => {
    const home = temporaryFolder('mcp-attested');
    const strict = await startDaemonProcess(home, await freePort(), { SVC_REQUIRE_AGENT_ATTESTATION: '1' });
    const transport = new StreamableHTTPClientTransport(new URL(strict.base.replace('/api/v1', '/mcp')));
    const client = new Client({ name: 'a test', version: '1.0' });
    await client.connect(transport as never);
    const refused = await answerOf(client, 'memory_store', { title: 't', content: 'c' });
    assert.equal(refused.body['code'], 'ATTESTATION_FAILED');
    await client.close();
    assert.equal(await strict.end('SIGTERM'), 0);
  });

  it('opens a session of the first version for a client that says little of itself', async () => {
    for (const params of [undefined, {}, { protocolVersion: 7, capabilities: null, clientInfo: 'curl' }]) {
      const opened = await post({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
      assert.equal(opened.status, 200, JSON.stringify(params));
      const [event] = eventsOf(await opened.text());
      assert.equal((event!.message['result'] as Answer)['protocolVersion'], '2024-11-05');
    }
  });

  it('refuses what is no message, and requests without a session', async () => {
    const raw = await session();
    for (const [body, code] of [
      ['{"jsonrpc":', -32700],
      ['[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32700],
      ['{"method":"ping"}', -32700],
    ] as const) {
      const answer = await post(body, raw);
      assert.equal(answer.status, 400, body);
      assert.equal(((await answer.json()) as { error: { code: number } }).error.code, code, body);
    }
    assert.equal((await post({ jsonrpc: '2.0', id: 1, method: 'ping' })).status, 400);
    assert.equal((await post(initialize(), { 'x-agent-id': 'a b' })).status, 400);
    const text = { ...raw, 'content-type': 'text/plain' };
    assert.equal((await post(initialize(), text)).status, 415);
    const large = JSON.stringify({ ...initialize(), padding: 'x'.repeat(3 * 1024 * 1024) });
    assert.equal((await post(large, raw)).status, 413);
    const head = await fetch(url, { method: 'HEAD', headers: { 'x-api-key': KEY } });
    assert.equal(head.status, 405);
    const version = { ...raw, 'mcp-protocol-version': '1999-01-01' };
    assert.equal((await post({ jsonrpc: '2.0', id: 1, method: 'ping' }, version)).status, 400);
    assert.equal((await post({ jsonrpc: '2.0', method: 'notifications/initialized' }, raw)).status, 202);
  });

  it('sends a client that comes back what it missed', async () => {
    const raw = { ...(await session('ai:raw', '?profile=full')), 'mcp-protocol-version': '2025-11-25' };
    model.delayMs = 1500;
    const broken = new AbortController();
    const lost = await fetch(url, {
      ...{ method: 'POST', signal: broken.signal, headers: { ...ACCEPT, 'x-api-key': KEY, ...raw } },
      body: JSON.stringify(called(5, 'memory_expand_query', { query: 'deploy' })),
    });
    // The first event has only an id, from which the client goes on.
    const reader = lost.body!.getReader();
    const first = new TextDecoder().decode((await reader.read()).value);
    const id = /^id: (.*)$/m.exec(first)![1]!;
    broken.abort();
    await reader.cancel().catch(() => undefined);
    model.delayMs = 0;
    const stop = new AbortController();
    const resumed = await fetch(url, {
      signal: stop.signal,
      headers: { ...ACCEPT, 'x-api-key': KEY, ...raw, 'last-event-id': id },
    });
    assert.equal(resumed.status, 200);
    let text = '';
    for await (const piece of resumed.body!) {
      text += new TextDecoder().decode(piece);
      if (text.includes('"id":5')) break;
    }
    stop.abort();
    const [event] = eventsOf(text);
    assert.equal(event!.message['id'], 5);
    assert.match(JSON.stringify(event!.message['result']), /expanded_terms/);
    const strange = { ...ACCEPT, 'x-api-key': KEY, ...raw, 'last-event-id': 'nothing/1' };
    assert.equal((await fetch(url, { headers: strange })).status, 400);
  });

  it('refuses a second request with an id that is under way, and answers the first', async () => {
    const raw = { ...(await session('ai:raw', '?profile=full')), 'mcp-protocol-version': '2025-11-25' };
    model.delayMs = 1500;
    const first = await post(called(7, 'memory_expand_query', { query: 'tide' }), raw);
    const second = await post({ jsonrpc: '2.0', id: 7, method: 'ping' }, raw);
    assert.equal(second.status, 400);
    assert.match(await second.text(), /a request with this id is under way/);
    const [event] = eventsOf(await first.text());
    assert.equal(event!.message['id'], 7);
    model.delayMs = 0;
    assert.equal((await post({ jsonrpc: '2.0', id: 7, method: 'ping' }, raw)).status, 200);
  });

  it('answers the calls under way before it ends', async () => {
    const own = await startDaemonProcess(temporaryFolder('mcp-last'), await freePort(), {
      ...model.environment,
    });
    const transport = new StreamableHTTPClientTransport(
      new URL(`${own.base.replace('/api/v1', '/mcp')}?profile=full`),
    );
    const client = new Client({ name: 'a test', version: '1.0' });
    await client.connect(transport as never);
    await answerOf(client, 'memory_store', { title: 't', content: 'c' });
    model.delayMs = 20_000;
    const asked = model.asked.length;
    const under = answerOf(client, 'memory_expand_query', { query: 'deploy' });
    await until('the model is asked', () => model.asked.length > asked);
    const ended = own.end('SIGTERM');
    assert.equal((await under).failed, true, 'the model is given up, and the caller is told');
    assert.equal(await ended, 0);
    model.delayMs = 0;
    await client.close();
  });

  it('ends in good order with a session that is followed', async () => {
    const home = temporaryFolder('mcp-drain');
    const own = await startDaemonProcess(home, await freePort());
    const transport = new StreamableHTTPClientTransport(new URL(own.base.replace('/api/v1', '/mcp')));
    const client = new Client({ name: 'a test', version: '1.0' });
    await client.connect(transport as never);
    const begun = Date.now();
    assert.equal(await own.end('SIGTERM'), 0);
    assert.ok(Date.now() - begun < 5000, 'an open stream does not delay the end');
    await client.close();
  });
});
