import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { GovernedDaemon, type Row } from './governed-daemon.js';

const ROOT = 'ai:root';

let node: GovernedDaemon;
before(async () => {
  node = await GovernedDaemon.start('registers-others', {
    config: `[admin]\nagent_ids = ["${ROOT}"]\n`,
    env: { SVC_ADMIN_HEADER_TRUST: '1' },
  });
});
after(() => node.end());

const body = (agent: string) => ({ agent_id: agent, agent_type: 'ai:coder', capabilities: ['build'] });

/** How each surface registers an agent in the name of another; `ok`, or the code. */
const SURFACES = {
  http: async (by: string, agent: string) => {
    const { status, body: said } = await node.call(by, 'POST', '/agents', body(agent));
    return status === 201 ? 'ok' : said['code'];
  },
  mcp: (by: string, agent: string) =>
    node.tools(by, async (tool) => {
      const said = await tool('memory_agent_register', body(agent));
      return said['registered'] === true ? 'ok' : said['code'];
    }),
  cli: async (by: string, agent: string) => {
    const { code, err } = await node.cli(
      [
        'agents',
        'register',
        '--agent-id',
        agent,
        '--agent-type',
        'ai:coder',
        '--capabilities',
        'build',
        '--json',
      ],
      { SVC_AGENT_ID: by },
    );
    return code === 0 ? 'ok' : (JSON.parse(err) as Row)['code'];
  },
} as const;

describe('an agent that another one registers', () => {
  for (const [name, register] of Object.entries(SURFACES)) {
    const agent = `ai:${name}-made`;

    it(`is refused to a caller that is no admin (${name})`, async () => {
      const refused = await register('ai:mallory', agent);
      assert.equal(refused, name === 'http' ? 'agent_id_body_header_mismatch' : 'FORBIDDEN');
    });

    it(`is registered by an admin, and keeps its own name (${name})`, async () => {
      assert.equal(await register(ROOT, agent), 'ok');
      const { body: list } = await node.call(ROOT, 'GET', '/agents');
      const found = (list['agents'] as Row[]).find(({ agent_id }) => agent_id === agent);
      assert.deepEqual(found?.['capabilities'], ['build']);
      // The admin itself is not registered by that.
      assert.equal(
        (list['agents'] as Row[]).some(({ agent_id }) => agent_id === ROOT),
        false,
      );
    });
  }

  it('is only what the call is about: elsewhere an admin names nobody but itself', async () => {
    const { status, body: said } = await node.call(ROOT, 'POST', '/memories', {
      agent_id: 'ai:http-made',
      title: 'forged',
      content: 'text',
    });
    assert.deepEqual([status, said['code']], [403, 'agent_id_body_header_mismatch']);
  });
});
