import assert from 'node:assert/strict';
import { createConnection } from 'node:net';
import { it } from 'node:test';
import type { McpRequest } from '../../../node/bindings/mcp-request.js';
import { McpEndpoint } from '../../../node/runtime/mcp-endpoint.js';
import { until, untilAnswer } from '../../support/wait.js';
import { openHttpNode } from './http-node.js';

const ACCEPT = 'application/json, text/event-stream';
const INITIALIZE = {
  ...{ jsonrpc: '2.0', id: 0, method: 'initialize' },
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
};

it('a client that does not read its answers over MCP loses its connection, and its place under the cap', async () => {
  let endpoint: McpEndpoint | null = null;
  const answer = (request: McpRequest) => endpoint!.answer(request);
  const mcp = { kind: 'mcp', name: 'mcp', answer } as const;
  const node = await openHttpNode({ requestTimeoutMs: 500 }, { mcp, inflightMax: 1 });
  endpoint = new McpEndpoint(node.services);
  const opened = await node.send('POST', '/mcp', INITIALIZE, { accept: ACCEPT });
  const session = opened.headers.get('mcp-session-id')!;
  const call = (id: number, name: string, args: object) => ({
    ...{ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } },
  });
  const headers = { accept: ACCEPT, 'mcp-session-id': session };
  const long = { title: 'long', content: 'x'.repeat(60_000), namespace: 'large' };
  const stored = await node.send('POST', '/mcp', call(1, 'memory_store', long), headers);
  const id = /\\"id\\":\\"([0-9a-f-]{36})/.exec(stored.text)![1];

  const socket = createConnection(node.port, '127.0.0.1');
  socket.on('error', () => undefined);
  // Each answer has about 120 kB, so these fill all that the system takes.
  for (let count = 2; count < 202; count += 1) {
    const body = JSON.stringify(call(count, 'memory_get', { id }));
    const head = ['POST /mcp HTTP/1.1', 'Host: 127.0.0.1', `Accept: ${ACCEPT}`, `Mcp-Session-Id: ${session}`];
    head.push('Content-Type: application/json', `Content-Length: ${body.length}`, '', '');
    socket.write(head.join('\r\n') + body);
  }
  const ping = { jsonrpc: '2.0', id: 999, method: 'ping' };
  const statusOf = (awaited: string, wanted: number) =>
    untilAnswer(
      awaited,
      () => node.send('POST', '/mcp', ping, headers),
      ({ status }) => status === wanted,
    );
  await statusOf('its answer holds the only place', 503);
  const next = await statusOf('its place is free', 200);
  assert.match(next.text, /"id":999/);
  socket.resume();
  await until('the node has ended the connection', () => socket.closed);
  await endpoint.close();
  await node.close();
});
