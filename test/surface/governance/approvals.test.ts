import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startDaemonHere } from '../../support/daemon-here.js';
import { freePort, type RunningDaemon, temporaryFolder } from '../../support/daemon-process.js';
import { run } from '../cli/cli-process.js';
import { McpProcess, textOf } from '../mcp/mcp-process.js';

type Row = Record<string, unknown>;
interface Reply {
  readonly status: number;
  readonly body: Row;
}

const OWNER = 'ai:owner';
const CODER = 'ai:coder';
const LEAD = 'ai:lead';
const SECOND = 'ai:second';
const STRANGER = 'ai:stranger';
const ADMIN = 'human:admin';
const ENV = { SVC_ADMIN_AGENT_IDS: ADMIN, SVC_ADMIN_HEADER_TRUST: '1' };

let daemon: RunningDaemon;
before(async () => {
  daemon = await startDaemonHere(temporaryFolder('approvals'), await freePort(), ENV);
  for (const agent of [CODER, LEAD, SECOND]) {
    const { status } = await call(agent, 'POST', '/agents', { agent_id: agent, agent_type: 'ai:test' });
    assert.ok(status < 300);
  }
});
after(() => daemon.end('SIGTERM'));

async function call(agent: string, method: string, path: string, body?: unknown): Promise<Reply> {
  const response = await fetch(`${daemon.base}${path}`, {
    method,
    headers: { 'content-type': 'application/json', 'x-agent-id': agent },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Row };
}

const govern = (namespace: string, governance: Row, agent = OWNER) =>
  call(agent, 'POST', `/namespaces/${encodeURIComponent(namespace)}/standard`, { governance });
const store = (namespace: string, title: string, agent = CODER) =>
  call(agent, 'POST', '/memories', { namespace, title, content: `words of ${title}` });
const found = async (id: unknown, agent = CODER) => (await call(agent, 'GET', `/memories/${id}`)).status;

/** Requests a store that waits, and answers its pending id. */
async function waiting(namespace: string, title: string, agent = CODER): Promise<string> {
  const { status, body } = await store(namespace, title, agent);
  assert.equal(status, 202, JSON.stringify(body));
  return String(body['pending_id']);
}

describe('an action that needs an approval', () => {
  before(async () => {
    const { status, body } = await govern('ask', { write: 'approve', promote: 'approve', delete: 'approve' });
    assert.equal(status, 201, JSON.stringify(body));
  });

  it('answers 202 with its pending id, is listed for its requester, the admin and who may decide, and stores nothing', async () => {
    const { status, body } = await store('ask', 'first');
    assert.equal(status, 202);
    const { pending_id: id, ...rest } = body;
    assert.deepEqual(rest, {
      status: 'pending',
      reason: 'governance requires approval',
      action: 'store',
      namespace: 'ask',
    });
    const titles = (await call(CODER, 'GET', '/memories?namespace=ask')).body['memories'];
    assert.deepEqual(titles, []);
    for (const [agent, sees] of [
      [CODER, true],
      [ADMIN, true],
      [STRANGER, false],
      [LEAD, true],
    ] as const) {
      const { body: listed } = await call(agent, 'GET', '/pending?status=pending');
      const shown = (listed['pending'] as Row[]).find((row) => row['id'] === id);
      assert.equal(shown !== undefined, sees, agent);
      if (shown === undefined) continue;
      assert.equal(shown['action_type'], 'store');
      assert.equal(shown['requested_by'], CODER);
      assert.deepEqual(shown['approvals'], []);
      assert.equal((shown['payload'] as Row)['title'], 'first');
    }
  });

  it('executes when a registered agent approves, and is decided then', async () => {
    const id = await waiting('ask', 'second');
    const approved = await call(LEAD, 'POST', `/pending/${id}/approve`);
    assert.equal(approved.status, 200, JSON.stringify(approved.body));
    const { memory_id: memory, ...rest } = approved.body;
    assert.deepEqual(rest, { approved: true, id, decided_by: LEAD, executed: true });
    const got = await call(CODER, 'GET', `/memories/${memory}`);
    assert.equal(got.status, 200);
    const row = (got.body['memory'] ?? got.body) as Row;
    assert.equal(row['title'], 'second');
    assert.equal((row['metadata'] as Row)['agent_id'], CODER);
    for (const word of ['approve', 'reject']) {
      const late = await call(SECOND, 'POST', `/pending/${id}/${word}`);
      assert.deepEqual([late.status, late.body['code']], [409, 'PENDING_ACTION_STATE_INVALID']);
    }
  });

  it('does nothing when it is rejected', async () => {
    const id = await waiting('ask', 'third');
    const rejected = await call(LEAD, 'POST', `/pending/${id}/reject`);
    assert.deepEqual([rejected.status, rejected.body], [200, { rejected: true, id, decided_by: LEAD }]);
    const { body } = await call(CODER, 'GET', '/pending?status=rejected');
    assert.ok((body['pending'] as Row[]).some((row) => row['id'] === id));
    assert.deepEqual((await call(CODER, 'GET', '/memories?namespace=ask&limit=100')).body['count'], 1);
  });

  it('is not decided by its requester, nor by an agent that is not registered, and not at all when it is unknown', async () => {
    const id = await waiting('ask', 'fourth');
    for (const agent of [CODER, CODER.toUpperCase().replace('AI:', 'ai:'), STRANGER]) {
      for (const word of ['approve', 'reject']) {
        const { status, body } = await call(agent, 'POST', `/pending/${id}/${word}`);
        assert.deepEqual([status, body['code']], [403, 'GOVERNANCE_REFUSED'], `${agent} ${word}`);
      }
    }
    const unknown = await call(LEAD, 'POST', '/pending/00000000-0000-4000-8000-000000000000/approve');
    assert.deepEqual([unknown.status, unknown.body['code']], [404, 'PENDING_ACTION_NOT_FOUND']);
  });

  it('also deletes and promotes, also rows of others', async () => {
    const id = await waiting('ask', 'fifth');
    const memory = (await call(LEAD, 'POST', `/pending/${id}/approve`)).body['memory_id'];
    for (const [method, path, action, seen] of [
      ['POST', `/memories/${memory}/promote`, 'promote', 200],
      ['DELETE', `/memories/${memory}`, 'delete', 404],
    ] as const) {
      const asked = await call(STRANGER, method, path);
      assert.equal(asked.status, 202, JSON.stringify(asked.body));
      assert.deepEqual([asked.body['action'], asked.body['memory_id']], [action, memory]);
      const done = await call(LEAD, 'POST', `/pending/${asked.body['pending_id']}/approve`);
      assert.equal(done.status, 200, JSON.stringify(done.body));
      assert.equal(await found(memory), seen, action);
    }
  });

  it('stays pending when it cannot be executed, and says why', async () => {
    const ids = [await waiting('ask', 'sixth'), await waiting('ask', 'sixth')] as const;
    assert.equal((await call(LEAD, 'POST', `/pending/${ids[0]}/approve`)).status, 200);
    const taken = await call(LEAD, 'POST', `/pending/${ids[1]}/approve`);
    assert.deepEqual([taken.status, taken.body['code']], [409, 'CONFLICT']);
    const { body } = await call(CODER, 'GET', '/pending?status=pending');
    assert.ok((body['pending'] as Row[]).some((row) => row['id'] === ids[1]));
    assert.equal((await call(LEAD, 'POST', `/pending/${ids[1]}/reject`)).status, 200);
  });

  it('is put aside row by row in a bulk request, and over MCP and the command line', async () => {
    const bulk = await call(CODER, 'POST', '/memories/bulk', [
      { namespace: 'ask', title: 'bulk', content: 'c' },
      { namespace: 'free', title: 'bulk', content: 'c' },
    ]);
    const [asked, stored] = bulk.body['results'] as [Row, Row];
    assert.deepEqual(
      [bulk.body['created'], asked['status'], typeof asked['pending_id']],
      [1, 'pending', 'string'],
    );
    assert.equal(typeof stored['id'], 'string');

    const mcp = new McpProcess({
      home: daemon.home,
      args: ['--profile', 'full'],
      env: { SVC_AGENT_ID: CODER },
    });
    try {
      await mcp.request('init', 'initialize', {
        protocolVersion: '2024-11-05',
        capabilities: {},
        clientInfo: { name: 'governed', version: '1' },
      });
      const answer = await mcp.call(1, 'memory_store', { namespace: 'ask', title: 'by tool', content: 'c' });
      const told = JSON.parse(textOf(answer)) as Row;
      assert.equal(told['status'], 'pending');
      const list = await mcp.call(2, 'memory_pending_list', { status: 'pending' });
      assert.ok(textOf(list).includes(String(told['pending_id'])));
    } finally {
      await mcp.end();
    }

    const args = [
      'store',
      '--namespace',
      'ask',
      '--title',
      'by command',
      '--content',
      'c',
      '--agent-id',
      CODER,
    ];
    const plain = await run(daemon.home, args);
    assert.equal(plain.code, 3, plain.err);
    const [, id] = /^waits for approval: (\S+)\n/.exec(plain.out)!;
    const approved = await run(daemon.home, ['pending', 'approve', id!, '--agent-id', LEAD]);
    assert.equal(approved.out, `approved and executed: ${id}\n`, approved.err);
    const json = await run(daemon.home, [...args.with(4, 'by json'), '--json']);
    assert.equal((JSON.parse(json.out) as Row)['status'], 'pending');
  });
});

describe('the approver of a policy', () => {
  it('is one agent by name, who need not be registered and sees what it decides', async () => {
    await govern('named', { write: 'approve', approver: { agent: STRANGER } });
    const id = await waiting('named', 'one');
    const refused = await call(LEAD, 'POST', `/pending/${id}/approve`);
    assert.deepEqual([refused.status, refused.body['code']], [403, 'GOVERNANCE_REFUSED']);
    const { body } = await call(STRANGER, 'GET', '/pending');
    assert.ok((body['pending'] as Row[]).some((row) => row['id'] === id));
    assert.equal((await call(STRANGER, 'POST', `/pending/${id}/approve`)).status, 200);
  });

  it('is a consensus of distinct agents; one vote each, and one denial ends it', async () => {
    await govern('many', { write: 'approve', approver: { consensus: 2 } });
    const id = await waiting('many', 'one');
    for (const agent of [LEAD, LEAD]) {
      const { status, body } = await call(agent, 'POST', `/pending/${id}/approve`);
      assert.equal(status, 202);
      assert.deepEqual([body['approved'], body['votes'], body['quorum']], [false, 1, 2]);
    }
    const done = await call(SECOND, 'POST', `/pending/${id}/approve`);
    assert.deepEqual([done.status, done.body['approved']], [200, true]);
    const other = await waiting('many', 'two');
    await call(LEAD, 'POST', `/pending/${other}/approve`);
    assert.equal((await call(SECOND, 'POST', `/pending/${other}/reject`)).status, 200);
  });
});

describe('a remembered decision', () => {
  before(() => govern('memo', { write: 'approve' }));

  it('holds for later actions of the same agent, is listed and can be revoked', async () => {
    const id = await waiting('memo', 'one');
    await call(LEAD, 'POST', `/pending/${id}/approve`, { remember: 'forever' });
    assert.equal((await store('memo', 'two')).status, 201);
    assert.equal((await store('memo', 'of another', SECOND)).status, 202);
    const listed = await run(daemon.home, ['pending', 'remembered', '--json']);
    const [row] = (JSON.parse(listed.out) as { remembered: Row[] }).remembered;
    assert.deepEqual(
      [row!['namespace'], row!['action_type'], row!['agent_id'], row!['decision'], row!['until']],
      ['memo', 'store', CODER, 'approve', 'removed'],
    );
    const args = ['pending', 'revoke', '--namespace', 'memo', '--action', 'store', '--agent', CODER];
    assert.equal((await run(daemon.home, args)).out, 'removed\n');
    assert.equal((await store('memo', 'three')).status, 202);
  });

  it('of a denial refuses later actions', async () => {
    const id = await waiting('memo', 'four', SECOND);
    await call(LEAD, 'POST', `/pending/${id}/reject`, { remember: 'forever' });
    const refused = await store('memo', 'five', SECOND);
    assert.deepEqual([refused.status, refused.body['code']], [403, 'GOVERNANCE_REFUSED']);
  });

  it('of a session ends with the daemon', async () => {
    const id = await waiting('memo', 'six');
    await call(LEAD, 'POST', `/pending/${id}/approve`, { remember: 'session' });
    assert.equal((await store('memo', 'seven')).status, 201);
    const { home } = daemon;
    await daemon.end('SIGTERM');
    daemon = await startDaemonHere(home, await freePort(), ENV);
    assert.equal((await store('memo', 'eight')).status, 202);
  });
});

describe('the levels of a policy', () => {
  it('registered and owner keep others out', async () => {
    await govern('reg', { write: 'registered' });
    assert.equal((await store('reg', 'one')).status, 201);
    const stranger = await store('reg', 'two', STRANGER);
    assert.deepEqual([stranger.status, stranger.body['code']], [403, 'GOVERNANCE_REFUSED']);
    await govern('mine', { write: 'owner' });
    assert.equal((await store('mine', 'one', OWNER)).status, 201);
    assert.equal((await store('mine', 'two')).status, 403);
  });

  it('any lets others delete and promote', async () => {
    await govern('open', { write: 'any', delete: 'any', promote: 'any' });
    const { body } = await store('open', 'one');
    assert.equal((await call(STRANGER, 'POST', `/memories/${body['id']}/promote`)).status, 200);
    assert.equal((await call(STRANGER, 'DELETE', `/memories/${body['id']}`)).status, 200);
  });

  it('are inherited by the namespaces below, and nobody but their owner loosens them there', async () => {
    await govern('top', { write: 'approve' });
    assert.equal((await store('top/a/b', 'one')).status, 202);
    for (const governance of [
      { write: 'any' },
      { write: 'any', inherit: false },
      { write: 'approve', approver: { agent: CODER } },
    ]) {
      const refused = await govern('top/a', governance, CODER);
      assert.deepEqual(
        [refused.status, refused.body['code']],
        [403, 'FORBIDDEN'],
        JSON.stringify(governance),
      );
    }
    assert.equal((await govern('top/a', { write: 'any' })).status, 201);
    assert.equal((await store('top/a/b', 'one')).status, 201);
  });
});
