import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { freePort, temporaryFolder } from '../../support/daemon-process.js';
import { type HttpNode, openHttpNode } from '../http/http-node.js';
import { McpSession } from './mcp-session.js';

type Json = Record<string, unknown>;

describe('an MCP server whose stores another node takes', () => {
  let node: HttpNode;
  let server: McpSession;
  let id = 1;
  before(async () => {
    node = await openHttpNode();
    server = await open(node.port);
  });
  after(async () => {
    await server.end();
    await node.close();
  });

  async function open(port: number): Promise<McpSession> {
    const home = temporaryFolder('mcp');
    // As a flat file of the reference says it.
    writeFileSync(join(home, 'config.toml'), `mcp_federation_forward_url = "http://127.0.0.1:${port}"\n`, {
      mode: 0o600,
    });
    const opened = new McpSession({ home, env: { SVC_AGENT_ID: 'ai:writer' } });
    await opened.request(id, 'initialize', {});
    return opened;
  }

  async function call(on: McpSession, name: string, args: Json): Promise<{ failed: boolean; value: Json }> {
    id += 1;
    const { result } = await on.call(id, name, args);
    const [first] = result!['content'] as { text: string }[];
    return { failed: result!['isError'] === true, value: JSON.parse(first!.text) as Json };
  }
  const store = (on: McpSession, args: Json) => call(on, 'memory_store', { format: 'json', ...args });

  it('answers the memory that the other node has, in the name of its agent, and keeps none', async () => {
    const { failed, value } = await store(server, { title: 'forwarded', content: 'a text', tags: ['one'] });
    assert.equal(failed, false, JSON.stringify(value));
    const { json } = await node.send('GET', `/api/v1/memories/${value['id']}`, undefined, {
      'x-agent-id': 'ai:writer',
    });
    const memory = json!['memory'] as { title: string; metadata: Json };
    assert.deepEqual([memory.title, memory.metadata['agent_id']], ['forwarded', 'ai:writer']);
    const listed = await call(server, 'memory_list', { format: 'json' });
    assert.equal(listed.value['count'], 0);
  });

  it('passes the refusal of the other node on, with its code', async () => {
    const again = await store(server, { title: 'forwarded', content: 'other', on_conflict: 'error' });
    assert.deepEqual([again.failed, again.value['code']], [true, 'CONFLICT']);
    assert.match(String(again.value['error']), /^federation_forward: /);
  });

  it('fails and keeps nothing where no node answers', async () => {
    const alone = await open(await freePort());
    try {
      const { failed, value } = await store(alone, { title: 'lost', content: 'a text' });
      assert.deepEqual([failed, value['code']], [true, 'UNAVAILABLE']);
      assert.match(String(value['error']), /^federation_forward: .*ECONNREFUSED/);
      assert.equal((await call(alone, 'memory_list', { format: 'json' })).value['count'], 0);
    } finally {
      await alone.end();
    }
  });
});
