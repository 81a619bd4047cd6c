import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { startDaemonHere } from '../../support/daemon-here.js';
import { freePort, type RunningDaemon, temporaryFolder } from '../../support/daemon-process.js';
import { until } from '../../support/wait.js';
import { run } from '../cli/cli-process.js';

type Row = Record<string, unknown>;

const RULES = `[[permissions.rules]]
namespace_pattern = "closed/**"
op = "memory_store"
decision = "deny"
reason = "it is closed"
[[permissions.rules]]
namespace_pattern = "closed/open"
op = "memory_store"
decision = "allow"
[[permissions.rules]]
namespace_pattern = "asked"
op = "memory_store"
agent_pattern = "ai:*"
decision = "ask"
`;

async function withDaemon(
  config: string,
  env: Record<string, string>,
  use: (daemon: RunningDaemon) => Promise<void>,
): Promise<void> {
  const home = temporaryFolder('permissions');
  writeFileSync(join(home, 'config.toml'), config, { mode: 0o600 });
  const daemon = await startDaemonHere(home, await freePort(), env);
  try {
    await use(daemon);
  } finally {
    await daemon.end('SIGTERM');
  }
}

async function call({ base }: RunningDaemon, agent: string, method: string, path: string, body?: unknown) {
  const response = await fetch(`${base}${path}`, {
    method,
    headers: { 'content-type': 'application/json', 'x-agent-id': agent },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Row };
}
const store = (daemon: RunningDaemon, namespace: string, agent = 'ai:coder') =>
  call(daemon, agent, 'POST', '/memories', { namespace, title: `by ${agent}`, content: 'c' });

describe('permission rules of the configuration', { timeout: 120_000 }, () => {
  it('deny, ask and leave alone what they do not name', () =>
    withDaemon(RULES, {}, async (daemon) => {
      for (const namespace of ['closed/a', 'closed/a/b', 'closed/open']) {
        const { status, body } = await store(daemon, namespace);
        assert.deepEqual([status, body['code']], [403, 'GOVERNANCE_REFUSED'], namespace);
        assert.match(String(body['error']), /it is closed/);
      }
      assert.equal((await store(daemon, 'closed')).status, 201);
      assert.equal((await store(daemon, 'asked', 'human:one')).status, 201);
      const asked = await store(daemon, 'asked');
      assert.deepEqual([asked.status, asked.body['status']], [202, 'pending']);
    }));

  for (const [mode, statuses] of [
    ['enforce', [403, 202, 202]],
    ['advisory', [201, 201, 201]],
    ['off', [201, 201, 201]],
  ] as const) {
    it(`decide ${mode === 'enforce' ? 'in' : 'nothing in'} the mode ${mode}, which capabilities tell`, () =>
      withDaemon(RULES, { SVC_PERMISSIONS_MODE: mode }, async (daemon) => {
        const governance = { write: 'approve' };
        await call(daemon, 'ai:owner', 'POST', '/namespaces/team/standard', { governance });
        const told = [];
        for (const namespace of ['closed/a', 'asked', 'team'])
          told.push((await store(daemon, namespace)).status);
        assert.deepEqual(told, statuses);
        const { body } = await call(daemon, 'ai:coder', 'GET', '/capabilities');
        assert.equal((body['permissions'] as Row)['mode'], mode);
        assert.equal(body['pending_requests'], statuses.filter((status) => status === 202).length);
      }));
  }

  it('decide about links, and all of it is counted and recorded', () => {
    const rules = ['deny', 'ask']
      .map(
        (decision) =>
          `[[permissions.rules]]\nnamespace_pattern = "${decision}"\nop = "memory_link"\ndecision = "${decision}"\n`,
      )
      .join('');
    return withDaemon(rules, { SVC_REQUIRE_AGENT_ATTESTATION: '0' }, async (daemon) => {
      await call(daemon, 'ai:lead', 'POST', '/agents', { agent_id: 'ai:lead', agent_type: 'ai:test' });
      const id = async (namespace: string, title: string) => {
        const stored = await call(daemon, 'ai:coder', 'POST', '/memories', {
          namespace,
          title,
          content: 'c',
        });
        return String(stored.body['id']);
      };
      const open = await id('open', 'one');
      const link = async (target_id: string) =>
        call(daemon, 'ai:coder', 'POST', '/links', { source_id: open, target_id, relation: 'related_to' });
      assert.equal((await link(await id('open', 'two'))).status, 201);
      const denied = await link(await id('deny', 'three'));
      assert.deepEqual([denied.status, denied.body['code']], [403, 'GOVERNANCE_REFUSED']);
      const asked = await link(await id('ask', 'four'));
      assert.deepEqual(
        [asked.status, asked.body['status'], asked.body['action'], asked.body['memory_id']],
        [202, 'pending', 'link', open],
      );
      const metrics = async () => await (await fetch(new URL('/metrics', daemon.base))).text();
      await until('the gauge counts the action', async () =>
        /^svc_pending_actions 1$/m.test(await metrics()),
      );
      const approved = await call(
        daemon,
        'ai:lead',
        'POST',
        `/pending/${asked.body['pending_id']}/approve`,
        {},
      );
      assert.equal(approved.body['executed'], true, JSON.stringify(approved.body));
      const { body } = await call(daemon, 'ai:coder', 'GET', `/links/${open}`);
      assert.equal((body['links'] as Row[]).length, 2, JSON.stringify(body));
      await until('the gauge counts none', async () => /^svc_pending_actions 0$/m.test(await metrics()));
      const counted = (await metrics()).match(/^svc_policy_decisions_total.*$/gm) ?? [];
      assert.deepEqual(counted.toSorted(), [
        'svc_policy_decisions_total{action="link",outcome="allowed"} 1',
        'svc_policy_decisions_total{action="link",outcome="pending"} 1',
        'svc_policy_decisions_total{action="link",outcome="refused"} 1',
        'svc_policy_decisions_total{action="store",outcome="allowed"} 4',
      ]);
    });
  });

  it('keep the node from starting when one of them is wrong', async () => {
    for (const [wrong, says] of [
      ['op = "memory_burn"\nnamespace_pattern = "a"\ndecision = "deny"', /table 1 needs an op of/],
      ['op = "memory_store"\ndecision = "deny"', /table 1 needs a namespace_pattern/],
      ['op = "memory_store"\nnamespace_pattern = "a"\ndecision = "refuse"', /table 1 needs a decision/],
      ['op = "memory_store"\nnamespace_pattern = "a"\ndecision = "deny"\nwho = "x"', /unknown key "who"/],
    ] as const) {
      const home = temporaryFolder('permissions-wrong');
      writeFileSync(join(home, 'config.toml'), `[[permissions.rules]]\n${wrong}\n`, { mode: 0o600 });
      const { code, err } = await run(home, ['list']);
      assert.equal(code, 78, err);
      assert.match(err, says);
    }
  });

  it('hold for messages and shared copies, which are stores in their namespaces', () => {
    const rule = (pattern: string, decision: string) =>
      `[[permissions.rules]]\nnamespace_pattern = "${pattern}"\nop = "memory_store"\ndecision = "${decision}"\n`;
    const rules =
      rule('_messages/ai:closed', 'deny') + rule('_messages/ai:asked', 'ask') + rule('_shared/**', 'ask');
    return withDaemon(rules, { SVC_REQUIRE_AGENT_ATTESTATION: '0' }, async (daemon) => {
      await call(daemon, 'ai:lead', 'POST', '/agents', { agent_id: 'ai:lead', agent_type: 'ai:test' });
      const notify = (to: string) =>
        call(daemon, 'ai:coder', 'POST', '/notify', { target_agent_id: to, title: 't', payload: 'p' });
      assert.equal((await notify('ai:closed')).body['code'], 'GOVERNANCE_REFUSED');
      assert.equal((await notify('ai:open')).status, 201);
      const stored = await call(daemon, 'ai:coder', 'POST', '/memories', {
        title: 's',
        content: 'c',
        scope: 'private',
      });
      const sharing = { source_memory_id: stored.body['id'], target_agent_id: 'ai:asked' };
      for (const waiting of [
        await notify('ai:asked'),
        await call(daemon, 'ai:coder', 'POST', '/share', sharing),
      ]) {
        assert.equal(waiting.status, 202, JSON.stringify(waiting.body));
        const path = `/pending/${waiting.body['pending_id']}/approve`;
        const approved = await call(daemon, 'ai:lead', 'POST', path, {});
        assert.equal(approved.body['executed'], true, JSON.stringify(approved.body));
      }
      const inbox = await call(daemon, 'ai:asked', 'GET', '/inbox');
      assert.equal(inbox.body['count'], 1);
      const copies = `/memories?namespace=${encodeURIComponent('_shared/ai:coder->ai:asked')}`;
      assert.equal((await call(daemon, 'ai:asked', 'GET', copies)).body['count'], 1);
    });
  });
});
