import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ADMIN, GovernedDaemon } from '../../support/governed-daemon.js';
import { run } from '../cli/cli-process.js';

type Json = Record<string, unknown>;

let node: GovernedDaemon;
let made = 0;
before(async () => {
  node = await GovernedDaemon.start();
});
after(() => node.end());

async function send(agent: string, status: number, method: string, path: string, body?: Json): Promise<Json> {
  const reply = await node.call(agent, method, path, body);
  assert.equal(reply.status, status, `${agent} ${method} ${path}: ${JSON.stringify(reply.body)}`);
  return reply.body;
}

/** Runs a command as the operator of the machine, or as an agent that the process is bound to. */
async function command(args: readonly string[], env: Record<string, string> = {}): Promise<Json> {
  const { code, out, err } = await run(node.daemon.home, [...args, '--json'], { env });
  return { code, out, err };
}

async function ruled(namespace: string, governance: Json, more: readonly string[] = []): Promise<void> {
  const policy = ['--governance', JSON.stringify(governance), ...more];
  const { code, err } = await command(['namespace', 'set-standard', '--namespace', namespace, ...policy]);
  assert.equal(code, 0, String(err));
}

const set = (agent: string, status: number, namespace: string, more: Json) =>
  send(agent, status, 'POST', '/namespaces', { namespace, ...more });
function store(agent: string, status: number, namespace: string, more: Json = {}): Promise<Json> {
  made += 1;
  const memory = { namespace, title: `${agent} ${made}`, content: 'words', ...more };
  return send(agent, status, 'POST', '/memories', memory);
}

describe('the policy of the operator', () => {
  it('is loosened, taken over and cleared by no agent, by HTTP, on the command line and over an identity of MCP', async () => {
    await ruled('team', { write: 'approve', approver: { consensus: 2 }, delete: 'owner' });
    await store('ai:coder', 202, 'team');
    for (const agent of ['ai:evil', 'host:evil', 'operator']) {
      const loose = { namespace: 'team', governance: { write: 'any' } };
      const { status } = await node.call(agent, 'POST', '/namespaces', loose);
      assert.ok(status === 403 || status === 400, `${agent} ${status}`);
      const cleared = await node.call(agent, 'DELETE', '/namespaces?namespace=team');
      assert.ok(cleared.status === 403 || cleared.status === 400, `${agent} ${cleared.status}`);
    }
    const bound = { SVC_AGENT_ID: 'ai:evil' };
    const loosen = ['namespace', 'set-standard', '--namespace', 'team', '--governance', '{"write":"any"}'];
    assert.notEqual((await command(loosen, bound))['code'], 0);
    assert.notEqual(
      (await command(['namespace', 'clear-standard', '--namespace', 'team'], bound))['code'],
      0,
    );
    await store('ai:coder', 202, 'team');
    await ruled('team', { write: 'any' });
    await store('ai:coder', 201, 'team');
  });

  it('leaves the memory that the operator pins to the operator', async () => {
    const pinned = await command([
      'store',
      '--namespace',
      'proj',
      '--title',
      'rules',
      '--content',
      'be kind',
    ]);
    const { id } = JSON.parse(String(pinned['out'])) as { id: string };
    const pin = ['namespace', 'set-standard', '--namespace', 'proj', '--id', id];
    assert.equal((await command(pin))['code'], 0);
    const evil = await store('ai:evil', 201, 'proj/evil');
    await set('ai:evil', 403, 'proj', { id: evil['id'] });
    await set('ai:evil', 403, 'proj', { parent: 'elsewhere' });
    await set(ADMIN, 201, 'proj', { parent: 'elsewhere' });
  });

  it('stays that of an admin where an agent set the standard first, and the rest stays the agent’s', async () => {
    await set('ai:alice', 201, 'shared', { governance: { write: 'any' } });
    await set('ai:bob', 403, 'shared', { governance: { write: 'registered' } });
    await set('ai:alice', 201, 'shared', { governance: { write: 'registered' } });
    await set(ADMIN, 201, 'shared', { governance: { write: 'approve' } });
    await set('ai:alice', 403, 'shared', { governance: { write: 'any' } });
    await set('ai:alice', 403, 'shared', { governance: null, parent: 'shared-rules' });
    await set('ai:alice', 403, 'shared/below', { governance: { write: 'any' } });
    await send('ai:alice', 403, 'DELETE', '/namespaces?namespace=shared');
    await set('ai:alice', 201, 'shared', { parent: 'shared-rules' });
    await store('ai:alice', 202, 'shared');
  });

  it('is the only one for the namespaces of everybody', async () => {
    for (const namespace of ['*', 'global']) {
      await set('ai:evil', 403, namespace, { governance: { write: 'owner' } });
    }
    await store('ai:alice', 201, 'global');
  });
});

describe('a policy of an admin or the operator', () => {
  it('counts where agents had set a policy, an approver or a parent below it before', async () => {
    await set('ai:bob', 201, 'finance/q1', { governance: { write: 'any', inherit: false } });
    await set('ai:bob', 201, 'finance/q2', { parent: 'bobs' });
    const friend = { write: 'approve', approver: { agent: 'ai:friend' } };
    await set('ai:bob', 201, 'finance/q3', { governance: friend });
    await set('ai:bob', 201, 'finance/q4', { governance: { write: 'owner' } });
    for (const namespace of ['finance/q1/deep', 'finance/q2']) await store('ai:coder', 201, namespace);
    await ruled('finance', { write: 'approve' });
    for (const namespace of ['finance/q1/deep', 'finance/q2', 'finance/q3', 'finance/q4']) {
      await store('ai:coder', 202, namespace);
    }
    await store('ai:bob', 202, 'finance/q4');
    const { pending } = await send(ADMIN, 200, 'GET', '/pending?namespace=finance/q3');
    const [waiting] = pending as Json[];
    assert.equal(JSON.stringify(waiting?.['approver']).includes('ai:friend'), false);
    await set('ai:bob', 403, 'finance/q1/deep', { governance: { write: 'any' } });
  });

  it('leaves stricter policies of agents below it, and those that the operator excepts', async () => {
    await set('ai:bob', 201, 'plant/a', { governance: { write: 'approve' } });
    await ruled('plant', { write: 'registered' });
    await store('ai:coder', 202, 'plant/a');
    await store('ai:stranger', 403, 'plant/b');
    await ruled('plant/open', { write: 'any' });
    await store('ai:stranger', 201, 'plant/open');
    await ruled('plant/else', { write: 'any', inherit: false });
    await store('ai:stranger', 201, 'plant/else/deep');
    const parent = ['namespace', 'set-standard', '--namespace', 'plant/moved', '--parent', 'free'];
    assert.equal((await command(parent))['code'], 0);
    await store('ai:stranger', 201, 'plant/moved/x');
  });

  it('does the same for deletions', async () => {
    await set('ai:bob', 201, 'depot/a', { governance: { write: 'any', delete: 'any', inherit: false } });
    const { id } = await store('ai:coder', 201, 'depot/a');
    await ruled('depot', { write: 'any', delete: 'approve' });
    await send('ai:bob', 202, 'DELETE', `/memories/${id}`);
  });
});

describe('a policy that an agent sets', () => {
  it('says nothing about the private memories of another agent, in a namespace that was empty', async () => {
    const policy = { write: 'approve', promote: 'approve', delete: 'approve', approver: { agent: 'ai:bob' } };
    await set('ai:bob', 201, 'alice', { governance: policy });
    const privately = { scope: 'private', tier: 'short' };
    const { id } = await store('ai:alice', 201, 'alice/diary', privately);
    await send('ai:alice', 200, 'PUT', `/memories/${id}`, { content: 'edited in private' });
    await send('ai:alice', 200, 'POST', `/memories/${id}/promote`);
    const { pending } = await send('ai:bob', 200, 'GET', '/pending');
    assert.equal(JSON.stringify(pending).includes('alice'), false);
    await send('ai:alice', 202, 'PUT', `/memories/${id}`, { scope: 'collective' });
    await send('ai:alice', 200, 'DELETE', `/memories/${id}`);
    await store('ai:alice', 202, 'alice/diary');
    await store('ai:alice', 202, 'alice/diary', { scope: 'team' });
    await store('ai:bob', 202, 'alice/diary', privately);
  });

  it('counts for private memories where an admin or the operator has set it', async () => {
    await set(ADMIN, 201, 'vault', { governance: { write: 'approve' } });
    await store('ai:alice', 202, 'vault/diary', { scope: 'private' });
  });

  it('is the first one of no namespace that holds a memory of another agent, also a hidden one', async () => {
    await store('ai:alice', 201, 'quiet/deep', { scope: 'private' });
    await set('ai:bob', 403, 'quiet', { governance: { write: 'any' } });
    await set('ai:bob', 403, 'quiet', { parent: 'bobs' });
    await set('ai:alice', 201, 'quiet', { governance: { write: 'any' } });
  });
});
