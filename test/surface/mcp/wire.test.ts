import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { MCP_LINE_BYTES_MAX } from '../../../protocol/base/mcp-limits.js';
import { type Message, textOf } from './mcp-lines.js';
import { McpProcess } from './mcp-process.js';
import { McpSession } from './mcp-session.js';

const byMessage = (pattern: RegExp) => (message: Message) => pattern.test(message.error?.message ?? '');

describe('the raw stream of an MCP server', () => {
  let server: McpProcess;
  before(() => {
    server = new McpProcess();
  });
  after(() => server.end());

  it('answers the later version that a client asks for, and the first one for any other', async () => {
    const versions = [
      ['2025-03-26', '2025-03-26'],
      ['2025-06-18', '2025-06-18'],
      ['2025-11-25', '2025-11-25'],
      ['2024-11-05', '2024-11-05'],
      ['2024-10-07', '2024-11-05'],
      ['2099-01-01', '2024-11-05'],
      ['1.0', '2024-11-05'],
      [7, '2024-11-05'],
      [undefined, '2024-11-05'],
    ] as const;
    for (const [id, [protocolVersion, answered]] of versions.entries()) {
      const { result } = await server.request(`init-${id}`, 'initialize', {
        protocolVersion,
        capabilities: {},
      });
      assert.equal(result?.['protocolVersion'], answered, String(protocolVersion));
      const later = answered > '2024-11-05';
      assert.equal(typeof result?.['instructions'], later ? 'string' : 'undefined');
      if (!later) {
        assert.deepEqual(Object.keys(result ?? {}), ['protocolVersion', 'capabilities', 'serverInfo']);
        assert.deepEqual(result?.['capabilities'], { tools: {}, prompts: {} });
      }
    }
  });

  it('shows a session of the first version no members that only later ones have', async () => {
    await server.request('first', 'initialize', { protocolVersion: '2024-11-05' });
    const { result } = await server.request('rows', 'tools/list');
    for (const row of result!['tools'] as object[])
      assert.deepEqual(Object.keys(row), ['name', 'description', 'inputSchema']);
  });

  it('answers an initialize without any parameters', async () => {
    const { result } = await server.request('bare', 'initialize');
    assert.equal(result?.['protocolVersion'], '2024-11-05');
  });

  const refused: readonly (readonly [
    name: string,
    line: string | Uint8Array,
    code: number,
    message: RegExp,
  ])[] = [
    ['a line that is no JSON', '{"jsonrpc": \n', -32700, /not valid JSON/],
    ['a line that is no UTF-8', Buffer.from([0x22, 0xff, 0x22, 0x0a]), -32700, /not valid UTF-8/],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n', -32600, /batches/],
    ['a number', '5\n', -32600, /must be an object/],
    ['an id that is no string or integer', '{"jsonrpc":"2.0","id":{},"method":"ping"}\n', -32600, /id must/],
  ];
  for (const [name, line, code, message] of refused) {
    it(`refuses ${name} with ${code} and a null id`, async () => {
      server.raw(line);
      const answer = await server.message(byMessage(message));
      assert.equal(answer.error?.code, code);
      assert.equal(answer.id, null);
    });
  }

  it('refuses another version of JSON-RPC, and a request without a method, under their id', async () => {
    server.raw('{"jsonrpc":"1.0","id":"old","method":"ping"}\n');
    assert.equal((await server.answer('old')).error?.code, -32600);
    server.raw('{"jsonrpc":"2.0","id":"mute"}\n');
    assert.equal((await server.answer('mute')).error?.code, -32600);
  });

  it('refuses parameters that are no object with -32602', async () => {
    server.raw('{"jsonrpc":"2.0","id":"list","method":"tools/list","params":[1]}\n');
    assert.equal((await server.answer('list')).error?.code, -32602);
  });

  it('names an unknown method and an unknown tool with -32601', async () => {
    const method = await server.request('m', 'resources/list');
    assert.deepEqual(method.error, { code: -32601, message: 'method not found: resources/list' });
    const tool = await server.call('t', 'memory_nothing');
    assert.equal(tool.error?.code, -32601);
    assert.equal(tool.error?.message, 'unknown tool: memory_nothing');
  });

  it('refuses a missing or empty tool name with -32602', async () => {
    for (const [id, params] of [undefined, {}, { name: '' }, { name: 5 }].entries()) {
      const answer = await server.request(`name-${id}`, 'tools/call', params);
      assert.equal(answer.error?.code, -32602);
      assert.equal(answer.error?.message, 'missing or empty tool name');
    }
  });

  it('treats arguments that are no object as none', async () => {
    const listed = await server.call('args', 'memory_list', [1, 2]);
    assert.match(textOf(listed), /^count:0\n/);
    const stored = await server.call('args-2', 'memory_store', 'text');
    assert.equal(stored.error?.code, -32602);
  });

  it('tolerates carriage returns, blank lines and members that it does not know', async () => {
    server.raw('\r\n\n   \n{"jsonrpc":"2.0","id":"cr","method":"ping","extra":true}\r\n');
    assert.deepEqual((await server.answer('cr')).result, {});
  });

  it('answers no notification, no null id and no response', async () => {
    const before = server.messages.length;
    server.send({ method: 'tools/list' });
    server.send({ method: 'tools/list', id: null });
    server.send({ id: 'a-response', result: {} });
    await server.request('after-silence', 'ping');
    assert.equal(server.messages.length, before + 1);
  });

  it('reads a line that comes in pieces, also within a character', async () => {
    const line = Buffer.from('{"jsonrpc":"2.0","id":"ä","method":"ping"}\n');
    const cut = line.indexOf(0xa4);
    await new Promise((resolve) => server.child.stdin.write(line.subarray(0, cut), resolve));
    server.raw(line.subarray(cut));
    assert.deepEqual((await server.answer('ä')).result, {});
  });

  it('runs calls in the order in which they came, and answers others meanwhile', async () => {
    const ordered = new McpSession();
    ordered.send({
      id: 1,
      method: 'tools/call',
      params: { name: 'memory_store', arguments: { title: 'a', content: 'b' } },
    });
    ordered.send({ id: 2, method: 'tools/call', params: { name: 'memory_list', arguments: {} } });
    ordered.send({ id: 3, method: 'ping' });
    assert.match(textOf(await ordered.answer(2)), /^count:1\n/);
    assert.deepEqual((await ordered.answer(3)).result, {});
    assert.equal(await ordered.end(), 0);
  });

  it('refuses a line that is too long with -32700 and goes on after it', async () => {
    const long = new McpProcess();
    const piece = Buffer.alloc(1024 * 1024, 'x');
    for (let sent = 0; sent <= MCP_LINE_BYTES_MAX; sent += piece.length) long.raw(piece);
    long.raw('rest of it\n');
    assert.deepEqual((await long.request('next', 'ping')).result, {});
    const refusals = long.messages.filter(({ error }) => error !== undefined);
    assert.deepEqual(
      refusals.map(({ id, error }) => [id, error?.code]),
      [[null, -32700]],
    );
    assert.equal(await long.end(), 0);
  });
});
