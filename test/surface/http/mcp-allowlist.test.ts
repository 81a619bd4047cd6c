import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { listedTools } from '../../../node/bindings/profile.js';
import { profileOf } from '../../../node/config/tool-profile.js';
import { OPERATIONS } from '../../../node/operations/registry.js';
import { schemaDenials } from '../../support/audit-records.js';
import { startDaemonHere } from '../../support/daemon-here.js';
import { freePort, type RunningDaemon, temporaryFolder } from '../../support/daemon-process.js';

type Json = Record<string, unknown>;

const namesOf = (profile: string) => listedTools(OPERATIONS, profileOf(profile)).map(({ name }) => name);

describe('the allowlist over HTTP', () => {
  const home = temporaryFolder('mcp-allowlist');
  let daemon: RunningDaemon;
  before(async () => {
    const toml = [
      'schema_version = 2',
      '[mcp]\nprofile = "admin"\nprofile_hint_in_errors = true',
      '[mcp.allowlist]\n"ai:ann" = ["core", "graph"]\n"ai:root" = ["full"]\n"ai:m" = ["meta"]',
    ];
    writeFileSync(join(home, 'config.toml'), toml.join('\n'));
    daemon = await startDaemonHere(home, await freePort());
  });
  after(() => daemon.end('SIGTERM'));

  const connect = async (agent: string | null, query = '') => {
    const client = new Client({ name: 'a test', version: '1.0' });
    const headers: Record<string, string> = agent === null ? {} : { 'x-agent-id': agent };
    const url = new URL(daemon.base.replace('/api/v1', '/mcp') + query);
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }) as never);
    return client;
  };
  const listed = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);
  const call = async (client: Client, name: string, args: Json = {}) => {
    const result = (await client.callTool({ name, arguments: args })) as unknown as {
      content: [{ text: string }];
    };
    return JSON.parse(result.content[0].text) as Json;
  };

  it('bounds the profile that a client may choose', async () => {
    for (const [agent, query, profile] of [
      ['ai:root', '?profile=full', 'full'],
      ['ai:root', '', 'admin'],
      ['ai:ann', '?profile=full', 'core,graph'],
      ['ai:ann', '', 'core'],
    ] as const) {
      const client = await connect(agent, query);
      assert.deepEqual(await listed(client), namesOf(profile), `${agent} ${query}`);
      await client.close();
    }
    for (const agent of ['ai:bob', 'ai:an', 'ai:ANN', null]) {
      const client = await connect(agent, '?profile=full');
      assert.deepEqual(await listed(client), [], String(agent));
      assert.equal(client.getInstructions(), undefined);
      await assert.rejects(call(client, 'memory_recall', { context: 'x' }), /unknown tool: memory_recall$/);
      await client.close();
    }
  });

  it('hides what it denies: neither called, nor hinted at, nor described', async () => {
    const ann = await connect('ai:ann', '?profile=full');
    await assert.rejects(call(ann, 'memory_delete', { id: 'x' }), /unknown tool: memory_delete$/);
    const body = await call(ann, 'memory_capabilities', { include_schema: true });
    assert.deepEqual(body['agent_permitted_families'], ['core', 'graph']);
    for (const tool of body['tools'] as { name: string; family: string; callable_now: boolean }[]) {
      const permitted = ['core', 'graph'].includes(tool.family);
      assert.equal('inputSchema' in tool, permitted, tool.name);
      assert.equal(tool.callable_now, permitted || tool.name === 'memory_capabilities', tool.name);
    }
    const denied = await call(ann, 'memory_capabilities', { family: 'power', include_schema: true });
    assert.equal(denied['code'], 'FORBIDDEN');
    assert.ok(
      schemaDenials(home).some(
        ({ agentId, families }) => agentId === 'ai:ann' && families.join() === 'power',
      ),
    );
    await ann.close();
    const core = await connect('ai:ann');
    await assert.rejects(call(core, 'memory_link'), /open a session at \/mcp\?profile=core,graph, or/);
    await core.close();
  });

  it('counts for the list and the report of the other routes', async () => {
    const get = async (path: string, agent: string | null): Promise<Json> => {
      const headers: Record<string, string> = agent === null ? {} : { 'x-agent-id': agent };
      return (await (await fetch(daemon.base + path, { headers })).json()) as Json;
    };
    for (const [agent, count] of [
      ['ai:root', namesOf('admin').length],
      ['ai:ann', 7],
      ['ai:bob', 0],
      [null, 0],
    ] as const) {
      assert.equal(((await get('/tools/list', agent))['tools'] as unknown[]).length, count, String(agent));
    }
    assert.deepEqual((await get('/capabilities', 'ai:ann'))['agent_permitted_families'], ['core', 'graph']);
    assert.deepEqual((await get('/capabilities', 'ai:mia'))['agent_permitted_families'], ['meta']);
    assert.deepEqual((await get('/capabilities', null))['agent_permitted_families'], []);
  });

  it('records so many denials of an agent in a day, and no more', async () => {
    const eve = await connect('ai:eve');
    for (let asked = 0; asked < 105; asked += 1) {
      const { code } = await call(eve, 'memory_capabilities', { family: 'graph', include_schema: true });
      assert.equal(code, 'FORBIDDEN');
    }
    await eve.close();
    assert.equal(schemaDenials(home).filter(({ agentId }) => agentId === 'ai:eve').length, 100);
  });
});
