import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { temporaryFolder } from '../../support/daemon-process.js';
import { textOf } from './mcp-lines.js';
import { McpSession } from './mcp-session.js';

type Row = Record<string, unknown>;

const INITIALIZE = {
  protocolVersion: '2024-11-05',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
};

const home = temporaryFolder('mcp-session');
const servers: McpSession[] = [];
let next = 0;

async function serverOf(env: Record<string, string>) {
  const mcp = new McpSession({ home, profile: 'full', env });
  servers.push(mcp);
  await mcp.request('init', 'initialize', INITIALIZE);
  mcp.send({ method: 'notifications/initialized' });
  return (name: string, args: object) => {
    next += 1;
    return mcp.call(next, name, args);
  };
}

before(async () => {
  const ada = await serverOf({ SVC_AGENT_ID: 'ai:ada' });
  await ada('memory_store', { title: 'open', content: 'For all\nto read', namespace: 'team' });
  await ada('memory_store', {
    title: 'own',
    content: 'Mine',
    namespace: 'team',
    scope: 'private',
    priority: 9,
  });
});
after(() => Promise.all(servers.map((mcp) => mcp.end())));

describe('memory_session_start over MCP', () => {
  it('shows what SVC_AGENT_ID may see, and everything without it', async () => {
    for (const [env, titles] of [
      [{ SVC_AGENT_ID: 'ai:ada' }, ['own', 'open']],
      [{ SVC_AGENT_ID: 'ai:bob' }, ['open']],
      [{}, ['own', 'open']],
    ] as const) {
      const call = await serverOf(env);
      const answer = await call('memory_session_start', { namespace: 'team', limit: 5, format: 'json' });
      const { memories, ...rest } = JSON.parse(textOf(answer)) as Row;
      assert.deepEqual(
        (memories as Row[]).map(({ title }) => title),
        titles,
      );
      assert.equal(rest['count'], titles.length);
      assert.equal(rest['agent_id'], 'SVC_AGENT_ID' in env ? env.SVC_AGENT_ID : undefined);
    }
  });

  it('answers compact TOON with the content unless told otherwise', async () => {
    const call = await serverOf({ SVC_AGENT_ID: 'ai:bob' });
    const lines = textOf(await call('memory_session_start', { namespace: 'team' })).split('\n');
    assert.match(lines[0]!, /^count:1\|mode:session_start\|tokens_used:\d+\|budget_tokens:4096$/);
    assert.equal(lines[1], 'memories[id|title|tier|namespace|priority|score|tags|agent_id|content]:');
    assert.match(lines[2]!, /^[0-9a-f-]{36}\|open\|mid\|team\|5\|0\|\|ai:ada\|For all$/);
    assert.deepEqual(lines.slice(3), ['  to read', '']);
  });

  it('refuses a wrong limit and budget', async () => {
    const call = await serverOf({});
    for (const args of [{ limit: 0 }, { budget_tokens: 0 }, { content: 'some' }]) {
      const { error } = await call('memory_session_start', args);
      assert.equal(error?.data?.['code'], 'VALIDATION_FAILED', JSON.stringify(args));
    }
  });
});
