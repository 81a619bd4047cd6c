import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { EventMemory } from '../../../node/mcp/event-memory.js';
import { HttpSessions } from '../../../node/mcp/http-sessions.js';
import {
  MCP_SESSION_IDLE_MS,
  MCP_SESSIONS_CHECK_MS,
  MCP_SESSIONS_PER_CALLER_MAX,
} from '../../../protocol/base/mcp-limits.js';
import { FakeScheduler } from '../../actors/fake-scheduler.js';
import { openTestNode } from '../../support/test-node.js';

const INITIALIZE = {
  ...{ jsonrpc: '2.0', id: 0, method: 'initialize' },
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
};
const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };

describe('MCP sessions over HTTP', () => {
  let node: Awaited<ReturnType<typeof openTestNode>>;
  let sessions: HttpSessions;
  let scheduler: FakeScheduler;
  beforeEach(async () => {
    node = await openTestNode();
    scheduler = new FakeScheduler();
    const { services } = node;
    sessions = new HttpSessions({ services, random: services.random, scheduler, clock: scheduler });
  });
  afterEach(async () => {
    await sessions.close();
    await node.close();
  });

  async function send(message: object, headers: Record<string, string> = {}, answered = Promise.resolve()) {
    const response = await sessions.answer({
      ...{
        method: 'POST',
        profile: null,
        client: null,
        message: message as Record<string, unknown>,
        answered,
      },
      headers: {
        ...{ accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
        ...headers,
      },
    });
    await response.text();
    return response;
  }
  const open = async (agent: string, answered?: Promise<void>) => {
    const opened = await send(INITIALIZE, { 'x-agent-id': agent }, answered);
    const id = opened.headers.get('mcp-session-id');
    return { status: opened.status, ping: () => send(PING, { 'x-agent-id': agent, 'mcp-session-id': id! }) };
  };

  it('end when nobody has used them for an hour', async () => {
    const idle = await open('ai:idle');
    const used = await open('ai:used');
    await scheduler.advance(MCP_SESSION_IDLE_MS - MCP_SESSIONS_CHECK_MS);
    assert.equal((await used.ping()).status, 200);
    assert.equal((await idle.ping()).status, 200);
    await scheduler.advance(MCP_SESSION_IDLE_MS - MCP_SESSIONS_CHECK_MS);
    assert.equal((await used.ping()).status, 200);
    await scheduler.advance(2 * MCP_SESSIONS_CHECK_MS);
    assert.equal((await idle.ping()).status, 404);
    assert.equal((await used.ping()).status, 200);
  });

  it('of one agent make room for its own, and for no session in use', async () => {
    const other = await open('ai:other');
    const first = await open('ai:many');
    for (let count = 1; count < MCP_SESSIONS_PER_CALLER_MAX; count += 1) await open('ai:many');
    assert.equal((await first.ping()).status, 200);
    // The first one was used last, so the second one ends.
    assert.equal((await open('ai:many')).status, 200);
    assert.equal((await first.ping()).status, 200);
    assert.equal((await other.ping()).status, 200);
    const unanswered = new Promise<void>(() => undefined);
    for (let count = 0; count < MCP_SESSIONS_PER_CALLER_MAX; count += 1) await open('ai:busy', unanswered);
    assert.equal((await open('ai:busy')).status, 503);
    assert.equal((await open('ai:third')).status, 200);
  });

  it('keep a bounded number of messages and bytes, over all sessions too', async () => {
    const all = { held: 0 };
    const bounds = { messagesMax: 3, bytesMax: 200, allBytesMax: 250 };
    const [one, two] = [new EventMemory(all, bounds), new EventMemory(all, bounds)];
    const message = (text: string) => ({ jsonrpc: '2.0' as const, method: text });
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1) ids.push(await one.storeEvent('s', message(`m${count}`)));
    assert.deepEqual(
      ids.map((id) => one.has(id)),
      [false, false, true, true, true],
    );
    const replayed: string[] = [];
    const send = async (id: string) => void replayed.push(id);
    assert.equal(await one.replayEventsAfter(ids[3]!, { send }), 's');
    assert.deepEqual(replayed, [ids[4]]);
    const large = await two.storeEvent('t', message('x'.repeat(500)));
    assert.equal(two.has(large), false);
    for (let count = 0; count < 5; count += 1) await two.storeEvent('t', message('y'.repeat(40)));
    assert.ok(all.held <= 250, String(all.held));
    one.clear();
    two.clear();
    assert.equal(all.held, 0);
  });
});
