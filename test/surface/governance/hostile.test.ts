import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startDaemonHere } from '../../support/daemon-here.js';
import { freePort, type RunningDaemon, temporaryFolder } from '../../support/daemon-process.js';
import { run } from '../cli/cli-process.js';

const RULES = `[[permissions.rules]]
namespace_pattern = "ruled"
op = "memory_delete"
decision = "ask"
`;

type Row = Record<string, unknown>;

const OWNER = 'ai:owner';
const CODER = 'ai:coder';
const LEAD = 'ai:lead';
const SECOND = 'ai:second';
const ATTACKER = 'ai:attacker';
const HELPER = 'ai:helper';

let daemon: RunningDaemon;
before(async () => {
  const home = temporaryFolder('governance-hostile');
  writeFileSync(join(home, 'config.toml'), RULES, { mode: 0o600 });
  daemon = await startDaemonHere(home, await freePort());
  for (const agent of [CODER, LEAD, SECOND, HELPER])
    assert.equal(
      (await call(agent, 'POST', '/agents', { agent_id: agent, agent_type: 'ai:test' })).status,
      201,
    );
});
after(() => daemon.end('SIGTERM'));

async function call(agent: string, method: string, path: string, body?: unknown) {
  const response = await fetch(`${daemon.base}${path}`, {
    method,
    headers: { 'content-type': 'application/json', 'x-agent-id': agent },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Row };
}
const setStandard = (agent: string, namespace: string, standard: Row) =>
  call(agent, 'POST', `/namespaces/${encodeURIComponent(namespace)}/standard`, standard);
const govern = (agent: string, namespace: string, governance: Row) =>
  setStandard(agent, namespace, { governance });
const store = (agent: string, namespace: string, title: string) =>
  call(agent, 'POST', '/memories', { namespace, title, content: `words of ${title}` });
const approve = (agent: string, { body }: { readonly body: Row }, remember = 'once') =>
  call(agent, 'POST', `/pending/${body['pending_id']}/approve`, { remember });

describe('an agent that looks for a way around a policy', { timeout: 120_000 }, () => {
  it('gets no answer without bound for many long actions', async () => {
    await govern(OWNER, 'long', { write: 'approve' });
    const content = 'x'.repeat(60_000);
    for (let n = 0; n < 80; n += 1) {
      const asked = await call('ai:long', 'POST', '/memories', {
        namespace: 'long',
        title: `t${n}`,
        content,
      });
      assert.equal(asked.status, 202);
    }
    const { body } = await call('ai:long', 'GET', '/pending?limit=1000');
    assert.equal(body['truncated'], true);
    assert.ok(JSON.stringify(body).length < 5_000_000);
    assert.ok(Number(body['count']) > 50);
    const [first] = body['pending'] as Row[];
    assert.equal((first!['payload'] as Row)['title'], 't79');
  });

  it('does not have a consensus remembered that only it wants remembered', async () => {
    await govern(OWNER, 'many', { write: 'approve', approver: { consensus: 2 } });
    const first = await store(CODER, 'many', 'one');
    await approve(LEAD, first);
    assert.equal((await approve(SECOND, first, 'forever')).status, 200);
    const second = await store(CODER, 'many', 'two');
    assert.equal(second.status, 202);
    await approve(LEAD, second, 'forever');
    assert.equal((await approve(SECOND, second, 'forever')).status, 200);
    assert.equal((await store(CODER, 'many', 'three')).status, 201);
  });

  it('does not become the owner of a namespace below one that only its owner writes', async () => {
    await govern(OWNER, 'top', { write: 'owner' });
    for (const governance of [{ write: 'owner' }, { write: 'approve', approver: { agent: HELPER } }]) {
      const refused = await govern(ATTACKER, 'top/below', governance);
      assert.deepEqual(
        [refused.status, refused.body['code']],
        [403, 'FORBIDDEN'],
        JSON.stringify(governance),
      );
    }
    assert.equal((await store(ATTACKER, 'top/below', 'one')).status, 403);
    assert.equal((await govern(OWNER, 'top/below', { write: 'owner' })).status, 201);
  });

  it('does not leave a policy by naming a parent of its own', async () => {
    const governance = { write: 'approve', approver: { agent: LEAD } };
    await govern(OWNER, 'ask', governance);
    await govern(ATTACKER, 'own', governance);
    const refused = await setStandard(ATTACKER, 'ask/below', { parent: 'own' });
    assert.deepEqual([refused.status, refused.body['code']], [403, 'FORBIDDEN']);
    await govern(ATTACKER, 'own', { write: 'any' });
    assert.equal((await store(ATTACKER, 'ask/below', 'one')).status, 202);
    assert.equal((await setStandard(OWNER, 'ask/below', { parent: 'own' })).status, 201);
  });

  it('does not move a memory to a namespace of another approver with the approval of its own', async () => {
    await govern(OWNER, 'target', { write: 'approve', approver: { agent: LEAD } });
    await govern(ATTACKER, 'source', { write: 'approve', approver: { agent: HELPER } });
    const stored = await approve(HELPER, await store(ATTACKER, 'source', 'moved'));
    const path = `/memories/${stored.body['memory_id']}`;
    const refused = await call(ATTACKER, 'PUT', path, { namespace: 'target' });
    assert.deepEqual([refused.status, refused.body['code']], [403, 'GOVERNANCE_REFUSED']);
    await govern(ATTACKER, 'source', { write: 'any' });
    const asked = await call(ATTACKER, 'PUT', path, { namespace: 'target' });
    assert.deepEqual([asked.status, asked.body['namespace']], [202, 'target']);
    assert.equal((await approve(HELPER, asked)).status, 403);
    assert.equal((await approve(LEAD, asked)).status, 200);
  });

  it('does not move a memory away where its deletion needs an approval', async () => {
    await govern(OWNER, 'kept', { write: 'any', delete: 'approve' });
    const { body } = await store(CODER, 'kept', 'one');
    const moved = await call(CODER, 'PUT', `/memories/${body['id']}`, { namespace: 'elsewhere' });
    assert.deepEqual([moved.status, moved.body['namespace']], [202, 'kept']);
    assert.equal((await call(CODER, 'PUT', `/memories/${body['id']}`, { title: 'two' })).status, 200);
  });

  it('does not delete a memory that was moved away before the approval', async () => {
    await govern(OWNER, 'shared', { write: 'any', delete: 'any' });
    const { body } = await store(CODER, 'shared', 'one');
    await govern(OWNER, 'shared', { write: 'any', delete: 'approve' });
    const asked = await call(ATTACKER, 'DELETE', `/memories/${body['id']}`);
    assert.equal(asked.status, 202);
    const moved = await call(CODER, 'PUT', `/memories/${body['id']}`, { namespace: 'private' });
    assert.equal((await approve(LEAD, moved)).status, 200);
    const refused = await approve(LEAD, asked);
    assert.deepEqual([refused.status, refused.body['code']], [409, 'VERSION_CONFLICT']);
    assert.equal((await call(CODER, 'GET', `/memories/${body['id']}`)).status, 200);
  });

  it('gets no right to delete memories of others from a rule that asks', async () => {
    const { body } = await store(CODER, 'ruled', 'one');
    const asked = await call(ATTACKER, 'DELETE', `/memories/${body['id']}`);
    assert.equal(asked.status, 202);
    const refused = await approve(HELPER, asked);
    assert.deepEqual([refused.status, refused.body['code']], [403, 'FORBIDDEN']);
    const own = await call(CODER, 'DELETE', `/memories/${body['id']}`);
    assert.equal((await approve(LEAD, own)).status, 200);
  });

  it('sets no policy over memories of others, by itself or by a parent', async () => {
    const { body } = await store(CODER, 'used/below', 'one');
    await govern(ATTACKER, 'bait', { write: 'any', delete: 'any' });
    for (const [namespace, standard] of [
      ['used', { governance: { write: 'any', delete: 'any' } }],
      ['used/below', { governance: { write: 'approve', approver: { agent: ATTACKER } } }],
      ['used/below', { parent: 'bait' }],
    ] as const) {
      const refused = await setStandard(ATTACKER, namespace, standard);
      assert.deepEqual([refused.status, refused.body['code']], [403, 'FORBIDDEN'], JSON.stringify(standard));
    }
    assert.equal((await call(ATTACKER, 'DELETE', `/memories/${body['id']}`)).status, 403);
    assert.equal((await govern(CODER, 'used', { write: 'any' })).status, 201);
  });

  it('does not move a memory by undoing a move', async () => {
    const { body } = await store(CODER, 'left', 'one');
    await call(CODER, 'PUT', `/memories/${body['id']}`, { namespace: 'outside' });
    await govern(OWNER, 'left', { write: 'approve' });
    const undo = await run(daemon.home, ['undo-edit', String(body['id']), '--agent-id', CODER, '--json']);
    assert.equal((JSON.parse(undo.out) as Row)['status'], 'pending', undo.err);
    const { body: shown } = await call(CODER, 'GET', `/memories/${body['id']}`);
    assert.equal((shown['memory'] as Row)['namespace'], 'outside');
  });

  it('does not keep a remembered approval when another approver is named', async () => {
    await govern(OWNER, 'handed', { write: 'approve' });
    await approve(HELPER, await store(CODER, 'handed', 'one'), 'forever');
    assert.equal((await store(CODER, 'handed', 'two')).status, 201);
    await govern(OWNER, 'handed', { write: 'approve', approver: { agent: LEAD } });
    assert.equal((await store(CODER, 'handed', 'three')).status, 202);
  });
});
