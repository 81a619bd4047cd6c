import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { OPERATIONS } from '../../../node/operations/registry.js';
import { schemaDenials } from '../../support/audit-records.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { textOf } from './mcp-lines.js';
import { McpProcess } from './mcp-process.js';
import { McpSession } from './mcp-session.js';

type Json = Record<string, unknown>;

let lastId = 0;
const nextId = (): number => {
  lastId += 1;
  return lastId;
};
interface Tool {
  readonly name: string;
  readonly family: string;
  readonly callable_now: boolean;
  readonly loaded: boolean;
  readonly inputSchema?: object;
}

const namesOf = (...families: readonly string[]) =>
  OPERATIONS.filter(({ mcp, family }) => mcp !== undefined && families.includes(family)).map(
    ({ name }) => name,
  );

const homeWith = (toml: string): string => {
  const home = temporaryFolder('mcp-profiles');
  writeFileSync(join(home, 'config.toml'), `schema_version = 2\n${toml}`);
  return home;
};

const listed = async (server: McpSession): Promise<string[]> => {
  const { tools } = (await server.request(1, 'tools/list')).result as { tools: { name: string }[] };
  return tools.map(({ name }) => name);
};

describe('the profile of an MCP session', () => {
  it('offers the families of its words, from the flag, then the variable, then the file', async () => {
    const home = homeWith('[mcp]\nprofile = "archive"\n');
    for (const [flag, env, families] of [
      [{ profile: 'graph' }, { SVC_PROFILE: 'power' }, ['core', 'graph']],
      [{}, { SVC_PROFILE: 'admin' }, ['core', 'lifecycle', 'governance']],
      [{}, {}, ['core', 'archive']],
    ] as const) {
      const server = new McpSession({ ...flag, env: { ...env } as Record<string, string>, home });
      assert.deepEqual(await listed(server), namesOf(...families));
      await server.end();
    }
  });

  it('calls the tools that it lists, and no others', async () => {
    const server = new McpSession({ profile: 'archive,core' });
    const found = await server.call(2, 'memory_archive_stats');
    assert.equal(found.result?.['isError'], undefined, textOf(found));
    const capabilities = JSON.parse(textOf(await server.call(3, 'memory_capabilities'))) as Json;
    assert.match(String(capabilities['summary']), /in the core,archive profile/);
    const { families } = capabilities['families'] as { families: { name: string; loaded: boolean }[] };
    assert.deepEqual(
      families.filter(({ loaded }) => loaded).map(({ name }) => name),
      ['core', 'archive'],
    );
    const refused = await server.call(4, 'memory_delete', { id: 'x' });
    assert.deepEqual([refused.error?.code, refused.error?.message], [-32601, 'unknown tool: memory_delete']);
    assert.equal(await server.end(), 0);
  });

  it('ends with exit code 2 for a word that it does not know, wherever that stands', async () => {
    for (const [args, env, said] of [
      [['--profile', 'core,Graph'], {}, /--profile: "Graph" must be in lower case/],
      [['--profile', 'core,tools'], {}, /--profile: "tools" is no profile and no family/],
    ] as const) {
      const server = new McpProcess({ args, env });
      assert.equal(await server.ended, 2);
      assert.match(server.errors, said);
    }
  });
});

describe('hints at other profiles', () => {
  const hints = '[mcp]\nprofile_hint_in_errors = true\n';

  it('name the family of the tool and how it is loaded', async () => {
    const server = new McpSession({ profile: 'graph', home: homeWith(hints) });
    const refused = await server.call(1, 'memory_delete', { id: 'x' });
    assert.equal(refused.error?.code, -32601);
    assert.equal(
      refused.error.message,
      'unknown tool: memory_delete; it is of the family lifecycle, which this session does not load: start the server with --profile core,lifecycle,graph, or see its tools with memory_capabilities, family "lifecycle", include_schema true',
    );
    assert.equal((await server.call(2, 'memory_nothing')).error?.message, 'unknown tool: memory_nothing');
    await server.end();
  });

  it('say nothing of a family that the allowlist denies', async () => {
    const home = homeWith(`${hints}[mcp.allowlist]\n"ai:ann" = ["core", "graph"]\n`);
    const server = new McpSession({ home, env: { SVC_AGENT_ID: 'ai:ann' } });
    assert.equal((await server.call(1, 'memory_delete')).error?.message, 'unknown tool: memory_delete');
    assert.match((await server.call(2, 'memory_link')).error?.message ?? '', /--profile core,graph,/);
    await server.end();
  });
});

describe('the allowlist over standard input', () => {
  const home = homeWith('[mcp.allowlist]\n"ai:ann" = ["core", "graph"]\n"ai:root" = ["full"]\n');
  let ann: McpSession;
  let other: McpSession;
  before(() => {
    ann = new McpSession({ profile: 'full', home, env: { SVC_AGENT_ID: 'ai:ann' } });
    other = new McpSession({ profile: 'full', home, env: { SVC_AGENT_ID: 'ai:bob' } });
  });
  after(() => Promise.all([ann.end(), other.end()]));

  const ask = async (server: McpSession, args: Json) =>
    JSON.parse(textOf(await server.call(nextId(), 'memory_capabilities', args))) as Json;

  it('says what an agent may call, and shows the schemas of that alone', async () => {
    const body = await ask(ann, { include_schema: true, verbose: true });
    assert.deepEqual(body['agent_permitted_families'], ['core', 'graph']);
    for (const tool of body['tools'] as Tool[]) {
      const permitted = ['core', 'graph'].includes(tool.family);
      assert.equal(tool.inputSchema !== undefined, permitted, tool.name);
      assert.equal('docstring' in tool, permitted, tool.name);
      assert.equal(tool.callable_now, permitted || tool.name === 'memory_capabilities', tool.name);
    }
    const second = await ask(ann, { accept: 'v2', include_schema: true });
    assert.deepEqual(
      (second['tool_payloads'] as Tool[]).map(({ name }) => name).sort(),
      namesOf('core', 'graph').sort(),
    );
    const graph = await ask(ann, { family: 'graph', include_schema: true });
    assert.deepEqual(
      (graph['tools'] as Tool[]).map(({ name }) => name),
      namesOf('graph'),
    );
  });

  it('denies the schemas of a family by agent and family, whatever agent the call names', async () => {
    for (const args of [{}, { agent_id: 'ai:root' }, { metadata: { agent_id: 'ai:root' } }]) {
      const denied = await ask(ann, { family: 'lifecycle', include_schema: true, ...args });
      assert.equal(denied['code'], 'FORBIDDEN');
      assert.match(String(denied['error']), /does not let ai:ann use the family lifecycle/);
      assert.equal(JSON.stringify(denied).includes('inputSchema'), false);
    }
    const everything = await ask(other, { include_schema: true });
    assert.deepEqual(everything['agent_permitted_families'], []);
    assert.equal(JSON.stringify(everything).includes('inputSchema'), false);
  });

  it('records each denial for the operator', () => {
    const records = schemaDenials(home);
    assert.deepEqual(
      records.filter(({ agentId, families }) => agentId === 'ai:ann' && families.join() === 'lifecycle')
        .length,
      3,
    );
    assert.ok(records.some(({ agentId, families }) => agentId === 'ai:bob' && families.length === 8));
  });
});
