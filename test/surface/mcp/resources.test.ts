import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { LoggingMessageNotificationSchema, type Resource } from '@modelcontextprotocol/sdk/types.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { connectClient, McpSession } from './mcp-session.js';

type Fields = Record<string, unknown>;

const connect = (home: string, agent: string, env: Record<string, string> = {}): Promise<Client> =>
  connectClient({ home, profile: 'full', env: { SVC_AGENT_ID: agent, ...env } }, '2025-11-25');

const call = async (client: Client, name: string, args: Fields): Promise<Fields> =>
  (await client.callTool({ name, arguments: args }))['structuredContent'] as Fields;

describe('what later versions have besides tools', () => {
  const home = temporaryFolder('mcp-resources');
  let ada: Client;
  let bob: Client;
  let secret: string;
  before(async () => {
    ada = await connect(home, 'ai:ada');
    bob = await connect(home, 'ai:bob');
    for (let count = 0; count < 60; count += 1) {
      const place = count % 2 === 0 ? 'team/ops' : 'größe/ab';
      await call(ada, 'memory_store', { title: `note ${count}`, content: `text ${count}`, namespace: place });
    }
    const own = { title: 'secret', content: 'of ada', namespace: 'own/ada', scope: 'private' };
    secret = String((await call(ada, 'memory_store', own))['id']);
    await call(ada, 'memory_namespace_set_standard', { namespace: 'team', id: await idOf('note 0') });
  });
  after(async () => {
    await ada.close();
    await bob.close();
  });

  const idOf = async (title: string) => {
    const listed = await call(ada, 'memory_list', { limit: 200, format: 'json' });
    const found = (listed['memories'] as Fields[]).find((memory) => memory['title'] === title);
    return String(found!['id']);
  };
  const all = async (client: Client) => {
    const resources: Resource[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const page = await client.listResources(cursor === undefined ? {} : { cursor });
      resources.push(...page.resources);
      cursor = page.nextCursor;
      pages += 1;
    } while (cursor !== undefined);
    return { resources, pages };
  };
  const read = async (client: Client, uri: string) => {
    const { contents } = await client.readResource({ uri });
    return contents[0] as { uri: string; mimeType: string; text: string };
  };
  const missing = (error: unknown) => (error as { code: number }).code === -32002;

  it('says so at the beginning', () => {
    assert.deepEqual(Object.keys(ada.getServerCapabilities()!).sort(), [
      ...['completions', 'logging', 'prompts', 'resources', 'tools'],
    ]);
  });

  it('lists namespaces and memories in pages, and those that the caller sees', async () => {
    const { resources, pages } = await all(ada);
    assert.ok(pages >= 2, String(pages));
    const uris = resources.map(({ uri }) => uri);
    assert.equal(new Set(uris).size, uris.length, 'each once');
    assert.ok(uris.includes('memory://namespace/gr%C3%B6%C3%9Fe/ab'));
    assert.ok(uris.includes(`memory://${secret}`));
    assert.equal(uris.filter((uri) => /^memory:\/\/[0-9a-f-]{36}$/.test(uri)).length, 61);
    const others = (await all(bob)).resources;
    assert.equal(others.filter(({ uri }) => uri.includes(secret)).length, 0);
    assert.equal(others.filter(({ name }) => name === 'secret' || name === 'own/ada').length, 0);
    await assert.rejects(ada.listResources({ cursor: 'forged' }), /cursor/);
  });

  it('reads a memory, a namespace and its standards, and nothing that is hidden', async () => {
    const { resourceTemplates } = await ada.listResourceTemplates();
    assert.deepEqual(
      resourceTemplates.map(({ uriTemplate }) => uriTemplate),
      ['memory://{id}', 'memory://namespace/{+namespace}', 'memory://standard/{+namespace}'],
    );
    const memory = await read(ada, `memory://${secret}`);
    assert.deepEqual([memory.mimeType, memory.text], ['text/markdown', '# secret\n\nof ada\n']);
    const listed = await read(ada, 'memory://namespace/gr%C3%B6%C3%9Fe/ab');
    assert.equal((JSON.parse(listed.text) as { count: number }).count, 30);
    const standard = await read(bob, 'memory://standard/team/ops');
    assert.match(standard.text, /"text 0"/);
    await assert.rejects(read(bob, `memory://${secret}`), missing);
    assert.equal((JSON.parse((await read(bob, 'memory://namespace/own/ada')).text) as Fields)['count'], 0);
    for (const uri of [
      'memory://',
      'memory://x/y',
      'file:///etc/passwd',
      'memory://%',
      '',
      'memory://nothing',
    ])
      await assert.rejects(read(ada, uri), missing, uri);
  });

  it('completes namespaces and ids that the caller sees', async () => {
    const complete = async (client: Client, ref: Fields, name: string, value: string) => {
      const { completion } = await client.complete({ ref: ref as never, argument: { name, value } });
      return completion.values;
    };
    const prompt = { type: 'ref/prompt', name: 'recall-first' };
    assert.deepEqual(await complete(ada, prompt, 'namespace', 'te'), ['team/ops']);
    const place = { type: 'ref/resource', uri: 'memory://namespace/{+namespace}' };
    assert.deepEqual(await complete(ada, place, 'namespace', 'own'), ['own/ada']);
    assert.deepEqual(await complete(bob, place, 'namespace', 'own'), []);
    const memory = { type: 'ref/resource', uri: 'memory://{id}' };
    assert.deepEqual(await complete(ada, memory, 'id', secret.slice(0, 8)), [secret]);
    assert.deepEqual(await complete(bob, memory, 'id', secret.slice(0, 8)), []);
    for (const [ref, name] of [
      [prompt, 'other'],
      [{ type: 'ref/prompt', name: 'nothing' }, 'namespace'],
      [{ type: 'ref/resource', uri: 'memory://other' }, 'id'],
    ] as const)
      await assert.rejects(complete(ada, ref, name, ''), /no such argument/);
  });

  it('tells a session about its own calls, from the level that it names', async () => {
    const lines: Fields[] = [];
    const heard: Fields[] = [];
    ada.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void lines.push(params));
    bob.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void heard.push(params));
    await bob.setLoggingLevel('debug');
    await call(ada, 'memory_stats', {});
    assert.equal(lines.length, 0, 'none before a level is named');
    await ada.setLoggingLevel('warning');
    await call(ada, 'memory_stats', {});
    await call(ada, 'memory_get', { id: 'nothing-there' });
    assert.deepEqual(lines, [
      {
        ...{ level: 'warning', logger: 'mnemesh' },
        data: { message: 'memory_get failed: NOT_FOUND', tool: 'memory_get', code: 'NOT_FOUND' },
      },
    ]);
    assert.deepEqual(heard, [], 'nothing about the calls of others');
    await ada.setLoggingLevel('debug');
    await call(ada, 'memory_stats', {});
    assert.equal(lines.length, 2);
    await assert.rejects(ada.setLoggingLevel('loud' as never));
  });

  it('reports the progress of a long call to a client that asks for it, before the answer', async () => {
    const raw = new McpSession({ profile: 'full' });
    for (const [version, reports] of [
      ['2025-11-25', [{ progressToken: 'mine', progress: 5, total: 5 }]],
      ['2024-11-05', []],
    ] as const) {
      await raw.request(`init ${version}`, 'initialize', { protocolVersion: version });
      for (let count = 0; count < 5; count += 1)
        await raw.call(`${version} ${count}`, 'memory_store', {
          title: `n ${count}`,
          content: 'x',
          namespace: 'gone',
        });
      const before = raw.messages.length;
      const asked = {
        name: 'memory_forget',
        arguments: { namespace: 'gone' },
        _meta: { progressToken: 'mine' },
      };
      const { result } = await raw.request(`forget ${version}`, 'tools/call', asked);
      assert.notEqual(result?.['isError'], true);
      const sent = raw.messages.slice(before, -1) as { params?: unknown }[];
      assert.deepEqual(
        sent.map(({ params }) => params),
        reports,
        version,
      );
    }
    await raw.end();
  });

  it('has none of it in a session of the first version', async () => {
    const first = new McpSession();
    await first.request('init', 'initialize', { protocolVersion: '2024-11-05' });
    for (const method of ['resources/list', 'resources/read', 'completion/complete', 'logging/setLevel']) {
      const { error } = await first.request(method, method, {});
      assert.deepEqual(error, { code: -32601, message: `method not found: ${method}` });
    }
    await first.end();
  });
});
