import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { until } from '../support/wait.js';
import { everyOperation } from './every-operation.js';
import {
  bearer,
  HELPER,
  type Json,
  KEY,
  LEAD,
  narrowed,
  nowS,
  type RawHeaders,
  TokenNode,
  withKey,
} from './tokens-of-a-node.js';

const OUTSIDE = 'outsidemarker';
const ACCEPT: RawHeaders = ['accept', 'application/json, text/event-stream'];

describe('a token over MCP', () => {
  let node: TokenNode;
  let team: string;
  let outside: string;
  let inside: string;
  before(async () => {
    node = await TokenNode.start('token-mcp');
    // A memory that reads do not promote, so that what is read twice answers the same.
    inside = await node.store('team/alpha', 'inside', { tier: 'long' }, HELPER);
    outside = await node.store('secret', `${OUTSIDE} secret`, {}, HELPER);
    team = await node.mint({ namespaces: ['team/**'], operations: ['read', 'write'] });
  });
  after(() => node.daemon.end('SIGTERM'));

  const post = (headers: RawHeaders, message: Json) =>
    node.call('POST', '//mcp?profile=full', [...ACCEPT, ...headers], message);
  const initialize = (headers: RawHeaders) =>
    post(headers, {
      ...{ jsonrpc: '2.0', id: 0, method: 'initialize' },
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
    });
  /** The headers of a session that a credential opened. */
  const session = async (headers: RawHeaders): Promise<RawHeaders> => {
    const opened = await initialize(headers);
    assert.equal(opened.status, 200, opened.text);
    return [...headers, 'mcp-session-id', String(opened.headers['mcp-session-id'])];
  };
  let calls = 0;
  const tool = async (headers: RawHeaders, name: string, args: Json = {}) => {
    calls += 1;
    const params = { name, arguments: args };
    const answered = await post(headers, { jsonrpc: '2.0', id: calls, method: 'tools/call', params });
    const data = /^data: (.*)$/m.exec(answered.text)?.[1] ?? answered.text;
    assert.ok(!answered.text.includes(OUTSIDE), answered.text);
    return { status: answered.status, text: data, code: /"code\\?":\\?"([A-Z_]+)/.exec(data)?.[1] ?? null };
  };

  it('reads and writes within its namespaces, and nothing else', async () => {
    const mine = await session(bearer(team));
    assert.match(
      (await tool(mine, 'memory_recall', { context: 'inside', format: 'json' })).text,
      new RegExp(inside),
    );
    assert.match(
      (await tool(mine, 'memory_store', { title: 'by tool', content: 'c', namespace: 'team/beta' })).text,
      /team\/beta/,
    );
    const refused = [
      ['memory_store', { title: 'x', content: 'c', namespace: 'secret' }, 'TOKEN_SCOPE'],
      [
        'memory_store',
        { title: 'x', content: 'c', namespace: 'team/a', agent_id: LEAD },
        'agent_id_body_header_mismatch',
      ],
      ['memory_get', { id: outside }, 'NOT_FOUND'],
      ['memory_update', { id: outside, content: 'changed' }, 'NOT_FOUND'],
      ['memory_update', { id: inside, namespace: 'secret' }, 'TOKEN_SCOPE'],
      ['memory_promote', { id: inside, to_namespace: 'secret' }, 'TOKEN_SCOPE'],
      ['memory_delete', { id: outside }, 'NOT_FOUND'],
      ['memory_history', { id: outside }, 'NOT_FOUND'],
      ['memory_link', { source_id: inside, target_id: outside, relation: 'related_to' }, 'NOT_FOUND'],
      ['memory_kg_query', { source_id: outside }, 'NOT_FOUND'],
      ['memory_forget', { pattern: OUTSIDE }, 'TOKEN_SCOPE'],
      ['memory_stats', {}, 'TOKEN_SCOPE'],
      ['memory_notify', { target_agent_id: LEAD, title: 't', payload: 'p' }, 'TOKEN_SCOPE'],
      ['memory_inbox', {}, 'TOKEN_SCOPE'],
      ['memory_agent_register', { agent_id: HELPER, agent_type: 'ai:coder' }, 'TOKEN_SCOPE'],
      ['memory_subscribe', { url: 'https://example.org', secret: 's'.repeat(32) }, 'TOKEN_SCOPE'],
      ['token_list', {}, 'TOKEN_SCOPE'],
      ['token_revoke', { token_id: '0'.repeat(32) }, 'TOKEN_SCOPE'],
    ] as const;
    const full = await session([...bearer(team)]);
    for (const [name, args, code] of refused) {
      const answered = await tool(full, name, args);
      assert.ok(answered.text.includes(code), `${name} ${JSON.stringify(args)}: ${answered.text}`);
    }
    const listed = await tool(mine, 'memory_list', { namespace: 'secret', format: 'json' });
    assert.match(listed.text, /\\?"count\\?":0/);
  });

  it('has a session of its own, which no other credential joins', async () => {
    const mine = await session(bearer(team));
    const id = mine.slice(-2);
    const less = await narrowed(team, { operations: ['read'] });
    const other = await node.mint({ namespaces: ['**'], operations: ['read', 'write'] });
    for (const headers of [bearer(less), bearer(other), withKey(HELPER), withKey()]) {
      assert.equal((await tool([...headers, ...id], 'memory_list')).status, 404);
    }
    const keyed = await session(withKey(HELPER));
    assert.equal((await tool([...bearer(team), ...keyed.slice(-2)], 'memory_list')).status, 404);
    for (const headers of [
      [],
      ['x-api-key', team],
      [...bearer(team), 'x-api-key', KEY],
      bearer(`${team}A`),
    ]) {
      assert.equal((await tool([...headers, ...id], 'memory_list')).status, 401);
    }
    assert.equal((await initialize([...bearer(team), 'x-agent-id', LEAD])).status, 400);
  });

  it('ends its session when it expires or is revoked', async () => {
    const short = await narrowed(team, { expiresS: nowS() + 2 });
    const expiring = await session(bearer(short));
    const taken = await node.mint({ namespaces: ['team/**'] });
    const revoked = await session(bearer(taken));
    assert.equal((await tool(revoked, 'memory_list')).status, 200);
    const closed = follow(revoked);
    assert.equal((await node.call('POST', '/tokens/revoke', withKey(), { token: taken })).status, 200);
    const refused = await tool(revoked, 'memory_list');
    assert.deepEqual([refused.status, refused.code], [401, 'TOKEN_REVOKED']);
    await until('its stream ends', async () => (await closed()) === true);
    await until('it expires', async () => (await tool(expiring, 'memory_list')).code === 'TOKEN_EXPIRED');
  });

  everyOperation(() => node);

  /** Follows a session; answers whether its stream has ended. */
  function follow(headers: RawHeaders): () => Promise<boolean> {
    let ended = false;
    void node
      .call('GET', '//mcp', ['accept', 'text/event-stream', ...headers])
      .catch(() => undefined)
      .then(() => {
        ended = true;
      });
    return () => Promise.resolve(ended);
  }
});
