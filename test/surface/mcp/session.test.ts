import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { countTokens } from 'gpt-tokenizer/encoding/cl100k_base';
import { OPERATIONS } from '../../../node/operations/registry.js';
import { VERSION } from '../../../node/version.js';
import { cleanEnvironment, MAIN, temporaryFolder } from '../../support/daemon-process.js';
import { asking } from './every-tool.js';
import { connectClient } from './mcp-session.js';

const CORE = [
  'memory_store',
  'memory_recall',
  'memory_list',
  'memory_get',
  'memory_search',
  'memory_load_family',
  'memory_smart_load',
];

const VERSION_ASKED = '2025-11-25';

const connect = (
  profile?: string,
  { SVC_HOME: home, ...env }: Record<string, string> = {},
  version: string = VERSION_ASKED,
) =>
  connectClient(
    { env, ...(profile === undefined ? {} : { profile }), ...(home === undefined ? {} : { home }) },
    version,
  );

/** A session with a process, as hosts have it: with the program that the build made. */
async function connectProcess(args: readonly string[]): Promise<Client> {
  const client = new Client({ name: 'a test', version: '1.0' });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [MAIN, 'mcp', ...args],
    env: cleanEnvironment(temporaryFolder('mcp')) as Record<string, string>,
    stderr: 'ignore',
  });
  await client.connect(asking(transport, VERSION_ASKED));
  return client;
}

function text(result: unknown): string {
  return (result as { content: { text: string }[] }).content[0]!.text;
}

const call = (client: Client, name: string, args: Record<string, unknown> = {}) =>
  client.callTool({ name, arguments: args });

describe('an MCP session in the core profile', () => {
  let client: Client;
  before(async () => {
    client = await connect();
  });
  after(() => client.close());

  it('introduces itself', () => {
    assert.deepEqual(client.getServerVersion(), { name: 'mnemesh', version: VERSION });
    assert.deepEqual(client.getServerCapabilities(), {
      ...{ tools: {}, prompts: {}, resources: {}, completions: {}, logging: {} },
    });
  });

  it('lists exactly the seven core tools', async () => {
    const { tools } = await client.listTools();
    assert.deepEqual(
      tools.map(({ name }) => name),
      CORE,
    );
  });

  it('stores, recalls, searches, lists and reads', async () => {
    const stored = JSON.parse(
      text(
        await call(client, 'memory_store', {
          title: 'Deploy | window',
          content: 'Sundays\n02:00',
          tags: ['ops'],
        }),
      ),
    );
    assert.match(stored.agent_id, /^ai:a-test@[\w.-]+:pid-\d+$/);
    const columns = 'memories[id|title|tier|namespace|priority|score|tags|agent_id]:';
    const recalled = text(await call(client, 'memory_recall', { context: 'deploy' })).split('\n');
    assert.equal(recalled[1], columns.replace(']:', '|passage]:'));
    assert.ok(recalled[2]!.startsWith(`${stored.id}|Deploy \\| window|mid|global|5|`));
    for (const [name, args] of [
      ['memory_list', {}],
      ['memory_search', { query: 'sundays', content: 'none' }],
    ] as const) {
      const lines = text(await call(client, name, args)).split('\n');
      assert.equal(lines[0], 'count:1');
      assert.equal(lines[1], columns);
    }
    const asked = { context: 'deploy', format: 'json', content: 'full' };
    const json = JSON.parse(text(await call(client, 'memory_recall', asked)));
    assert.equal(json.memories[0].content, 'Sundays\n02:00');
    const read = JSON.parse(text(await call(client, 'memory_get', { id: stored.id.slice(0, 8) })));
    assert.equal(read.id, stored.id, 'the memory is flat');
    assert.deepEqual(read.links, []);
    assert.equal(read.source, 'mcp');
  });

  it('answers a domain error as a tool result with the body that HTTP answers', async () => {
    const result = await call(client, 'memory_get', { id: 'nothing-has-this-id' });
    assert.equal(result.isError, true);
    assert.equal(JSON.parse(text(result)).code, 'NOT_FOUND');
    await call(client, 'memory_store', { title: 'taken', content: 'x' });
    const conflict = await call(client, 'memory_store', { title: 'taken', content: 'y' });
    const body = JSON.parse(text(conflict));
    assert.equal(body.code, 'CONFLICT');
    assert.match(body.existing_id, /^[0-9a-f-]{36}$/);
    assert.match(body.error, /on_conflict "merge" replaces its text and tags, "version" stores both$/);
  });

  it('leads who takes a loader of families for recall to memory_recall', async () => {
    const hint = async (name: string, args: Record<string, unknown>): Promise<string | undefined> =>
      JSON.parse(text(await call(client, name, args))).hint;
    const filed = { title: 'filed', content: 'x', metadata: { family: 'graph' } };
    await call(client, 'memory_store', filed);
    for (const [name, args] of [
      ['memory_smart_load', { intent: 'find the postgres primary' }],
      ['memory_smart_load', { intent: 'which paths does the graph have?' }],
      ['memory_load_family', { family: 'archive' }],
    ] as const) {
      assert.match((await hint(name, args)) ?? '', /memory_recall/, JSON.stringify(args));
    }
    assert.equal(await hint('memory_smart_load', { intent: 'link entities in the graph' }), undefined);
    assert.equal(await hint('memory_load_family', { family: 'graph' }), undefined);
  });

  const refusal = {
    error: 'context is required (unknown argument "query" of memory_recall)',
    code: 'VALIDATION_FAILED',
    fields: ['context'],
  };

  it('refuses what the schema refuses as a tool error, which a model can read', async () => {
    const result = await call(client, 'memory_recall', { query: 'deploy' });
    assert.equal(result.isError, true);
    assert.deepEqual(JSON.parse(text(result)), refusal);
  });

  it('refuses it with -32602 and the code in a session of the first version', async () => {
    const first = await connect(undefined, {}, '2024-11-05');
    await assert.rejects(call(first, 'memory_recall', { query: 'deploy' }), (error: never) => {
      assert.equal((error as { code: number }).code, -32602);
      assert.match((error as Error).message, /context is required/);
      assert.deepEqual((error as { data: unknown }).data, refusal);
      return true;
    });
    await first.close();
  });

  it('has instructions of fewer than 300 tokens, which name only tools of the profile', async () => {
    const full = await connect('full');
    for (const session of [client, full]) {
      const instructions = session.getInstructions()!;
      assert.ok(countTokens(instructions) < 300, `${countTokens(instructions)} tokens`);
      const { tools } = await session.listTools();
      const named = instructions.match(/memory_\w+/g)!;
      for (const name of named)
        assert.ok(
          tools.some((tool) => tool.name === name),
          name,
        );
    }
    await full.close();
  });

  it('ignores unknown arguments, and those that this surface omits', async () => {
    const result = await call(client, 'memory_store', {
      title: 'loose',
      content: 'x',
      color: 'red',
      ttl_secs: 1,
    });
    const { id } = JSON.parse(text(result));
    const memory = JSON.parse(text(await call(client, 'memory_get', { id })));
    const life = Date.parse(memory.expires_at) - Date.parse(memory.created_at);
    assert.equal(life, 90 * 24 * 3_600_000, 'the life of the mid tier');
  });

  it('takes a null for an absent optional argument', async () => {
    const result = await call(client, 'memory_list', { namespace: null, tags: null });
    assert.notEqual(result.isError, true);
  });

  it('knows an alias of a field', async () => {
    const stored = await call(client, 'memory_store', {
      title: 'alias',
      content: 'x',
      memory_kind: 'decision',
    });
    const memory = JSON.parse(text(await call(client, 'memory_get', { id: JSON.parse(text(stored)).id })));
    assert.equal(memory.kind, 'decision');
  });

  it('calls memory_capabilities though it is not listed, and tells the profile', async () => {
    const capabilities = JSON.parse(text(await call(client, 'memory_capabilities')));
    assert.equal(capabilities.schema_version, '3');
    const loaded = capabilities.tools.filter((tool: { loaded: boolean }) => tool.loaded);
    assert.deepEqual(
      loaded.map(({ name }: { name: string }) => name),
      [...CORE, 'memory_capabilities'],
    );
  });

  it('does not know a tool of another profile', async () => {
    await assert.rejects(call(client, 'memory_delete', { id: 'x' }), /unknown tool: memory_delete/);
  });

  it('offers two prompts', async () => {
    const { prompts } = await client.listPrompts();
    assert.deepEqual(
      prompts.map(({ name }) => name),
      ['recall-first', 'memory-workflow'],
    );
    const prompt = await client.getPrompt({ name: 'recall-first', arguments: { namespace: 'team/alpha' } });
    assert.match((prompt.messages[0]!.content as { text: string }).text, /team\/alpha/);
    await assert.rejects(client.getPrompt({ name: 'missing' }), (error: never) => {
      return (error as { code: number }).code === -32602;
    });
  });
});

describe('an MCP session in the full profile', () => {
  it('lists and dispatches every operation that has an MCP binding', async () => {
    const client = await connectProcess(['--profile', 'full']);
    const { tools } = await client.listTools();
    const bound = OPERATIONS.filter((operation) => operation.mcp !== undefined).map(({ name }) => name);
    assert.deepEqual(
      tools.map(({ name }) => name),
      bound,
    );
    for (const { name } of tools) {
      const result = await call(client, name);
      const { code } = result.isError === true ? JSON.parse(text(result)) : { code: 'VALIDATION_FAILED' };
      assert.notEqual(code, 'INTERNAL', name);
    }
    await client.close();
  });

  it('takes the profile from the environment', async () => {
    const client = await connect(undefined, { SVC_PROFILE: 'full' });
    const { tools } = await client.listTools();
    assert.ok(tools.some(({ name }) => name === 'memory_delete'));
    await client.close();
  });
});

describe('who an MCP caller is', () => {
  it('names the writer by agent_id, by metadata, then by SVC_AGENT_ID', async () => {
    const client = await connect(undefined, { SVC_AGENT_ID: 'configured' });
    const writer = async (args: object) =>
      JSON.parse(text(await call(client, 'memory_store', { content: 'x', ...args }))).agent_id;
    assert.equal(await writer({ title: 'a' }), 'configured');
    assert.equal(await writer({ title: 'b', agent_id: 'ai:explicit' }), 'ai:explicit');
    assert.equal(await writer({ title: 'c', metadata: { agent_id: 'ai:inside' } }), 'ai:inside');
    const refused = await call(client, 'memory_store', { title: 'd', content: 'x', agent_id: 'a b' });
    assert.deepEqual([refused.isError, JSON.parse(text(refused)).fields], [true, ['agent_id']]);
    await client.close();
  });

  it('hides the private rows of others when SVC_AGENT_ID is set, and only then', async () => {
    const home = temporaryFolder('mcp-visibility');
    const store = await connect(undefined, { SVC_AGENT_ID: 'alice', SVC_HOME: home });
    await call(store, 'memory_store', { title: 'secret', content: 'x', scope: 'private' });
    await store.close();
    for (const [agent, count] of [
      ['alice', 1],
      ['bob', 0],
      ['', 1],
    ] as const) {
      const client = await connect(undefined, { SVC_AGENT_ID: agent, SVC_HOME: home });
      // The argument is a filter of lists, and lends nobody another's eyes.
      const listed = await call(client, 'memory_list', { format: 'json', agent_id: 'alice' });
      assert.equal(JSON.parse(text(listed)).count, count, `as ${agent || 'nobody'}`);
      await client.close();
    }
  });
});
