import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { OPERATIONS } from '../../../node/operations/registry.js';
import { textOf } from './mcp-lines.js';
import { McpSession } from './mcp-session.js';

type Json = Record<string, unknown>;

describe('memory_capabilities over stdio', () => {
  let server: McpSession;
  let id = 1;
  before(async () => {
    server = new McpSession({ profile: 'core' });
    await server.request(0, 'initialize', {
      protocolVersion: '2024-11-05',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    });
  });
  after(() => server.end());

  const ask = async (args: Json): Promise<Json> => {
    id += 1;
    return JSON.parse(textOf(await server.call(id, 'memory_capabilities', args))) as Json;
  };

  it('answers the shape that `accept` names, and v3 for anything else', async () => {
    for (const [accept, version] of [
      ['v1', '1'],
      [' V1 ', '1'],
      [1, '1'],
      ['2', '2'],
      ['v9', '3'],
      [undefined, '3'],
      [null, '3'],
    ] as const) {
      assert.equal((await ask({ accept }))['schema_version'], version, String(accept));
    }
    assert.deepEqual(Object.keys(await ask({ accept: 'v1' })).sort(), [
      'features',
      'models',
      'schema_version',
      'tier',
      'version',
    ]);
  });

  it('tells what the core profile loads', async () => {
    const body = await ask({});
    const tools = body['tools'] as { name: string; loaded: boolean; callable_now: boolean; family: string }[];
    assert.deepEqual(
      tools.filter((tool) => tool.loaded).map(({ name }) => name).length,
      8,
      'seven and the one that is always there',
    );
    const { families } = body['families'] as { families: { name: string; loaded: boolean }[] };
    assert.deepEqual(
      families.filter((family) => family.loaded).map(({ name }) => name),
      ['core'],
    );
  });

  it('lists one family, with schemas and documentation when asked', async () => {
    const names = OPERATIONS.filter(({ family, mcp }) => family === 'core' && mcp !== undefined).map(
      ({ name }) => name,
    );
    assert.deepEqual(await ask({ family: 'core' }), {
      schema_version: 'v0.6.4-family-list-1',
      family: 'core',
      loaded_under_active_profile: true,
      tools: names,
    });
    const schemas = await ask({ family: 'lifecycle', include_schema: true, verbose: true });
    assert.equal(schemas['schema_version'], 'v0.6.4-family-schemas-1');
    assert.deepEqual([schemas['verbose'], schemas['loaded_under_active_profile']], [true, false]);
    const [first] = schemas['tools'] as { name: string; inputSchema: Json; docstring: string }[];
    assert.equal(first!.inputSchema['type'], 'object');
    assert.ok(first!.docstring.length > 10);
    assert.match(JSON.stringify(first!.inputSchema), /"description"/);
    const plain = await ask({ include_schema: true });
    const [tool] = plain['tools'] as Json[];
    assert.ok(tool!['inputSchema'] !== undefined && tool!['docstring'] === undefined);
    const second = await ask({ accept: 'v2', include_schema: true });
    assert.equal((second['tool_payloads'] as Json[]).length, OPERATIONS.filter(({ mcp }) => mcp).length);
  });

  it('refuses an empty or unknown family with the valid ones', async () => {
    for (const family of ['', 'cores', 'CORE']) {
      id += 1;
      const answer = await server.call(id, 'memory_capabilities', { family });
      assert.equal(answer.error?.code, -32602, family);
      assert.match(answer.error.message, /Valid families: core, lifecycle, graph/);
    }
  });
});
