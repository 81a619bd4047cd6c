import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ProcessMesh } from '../mesh/processes/process-mesh.js';
import type { ProcessNode } from '../mesh/processes/process-node.js';
import { until } from '../support/wait.js';
import { McpProcess, textOf } from '../surface/mcp/mcp-process.js';

const PATIENT = { withinMs: 60_000 } as const;
const [ALICE, BOB, EVE] = ['ai:alice', 'ai:bob', 'ai:eve'];
type Fields = Record<string, unknown>;

/** An agent with an MCP server on a node, which hands its calls to the daemon there. */
class Agent {
  private calls = 0;
  private readonly mcp: McpProcess;

  constructor({ home, environment }: ProcessNode, agentId: string) {
    this.mcp = new McpProcess({
      home,
      args: ['--profile', 'full'],
      env: { ...environment, SVC_AGENT_ID: agentId },
    });
  }

  async begin(): Promise<this> {
    const clientInfo = { name: 'test', version: '1' };
    await this.mcp.request('begin', 'initialize', {
      ...{ protocolVersion: '2024-11-05', capabilities: {}, clientInfo },
    });
    return this;
  }

  async call(tool: string, input: Fields): Promise<{ readonly isError: boolean; readonly body: Fields }> {
    this.calls += 1;
    const message = await this.mcp.call(this.calls, tool, input);
    assert.ok(message.result !== undefined, JSON.stringify(message));
    return { isError: message.result['isError'] === true, body: JSON.parse(textOf(message)) as Fields };
  }

  async run(tool: string, input: Fields): Promise<Fields> {
    const { isError, body } = await this.call(tool, input);
    assert.ok(!isError, `${tool}: ${JSON.stringify(body)}`);
    return body;
  }

  async refused(tool: string, input: Fields): Promise<Fields> {
    const { isError, body } = await this.call(tool, input);
    assert.ok(isError, `${tool} succeeded: ${JSON.stringify(body)}`);
    return body;
  }

  end = () => this.mcp.end();
}

describe('coordination between two nodes', { timeout: 240_000 }, () => {
  let mesh: ProcessMesh;
  let one: ProcessNode;
  let two: ProcessNode;
  let agents: Agent[] = [];
  let [alice, bob, eve] = [] as unknown as [Agent, Agent, Agent];

  const begin = async () => {
    const begun = [new Agent(one, ALICE), new Agent(two, BOB), new Agent(two, EVE)] as const;
    agents = await Promise.all(begun.map((agent) => agent.begin()));
    [alice, bob, eve] = begun;
  };
  before(async () => {
    mesh = await ProcessMesh.form(2);
    [one, two] = [mesh.nodes[0]!, mesh.nodes[1]!];
    await mesh.drain(60_000);
    await begin();
  });
  after(async () => {
    await Promise.all(agents.map((agent) => agent.end()));
    await mesh.close();
  });

  const signal = async (who: Agent, id: unknown): Promise<Fields> => {
    const { signal: read, verified } = await who.run('memory_signal_read', { id });
    return { ...((read ?? {}) as Fields), verified };
  };
  const ids: Record<string, unknown> = {};

  it('carries signals there, verified, and their acknowledgement back', async () => {
    const sent = await alice.run('memory_signal_send', {
      ...{ namespace: 'team', subject: 'ready', to_agent: BOB, body: { a: 1 } },
    });
    const id = sent['id'];
    ids['signal'] = id;
    const inbox = async (who: Agent) =>
      ((await who.run('memory_signal_inbox', { namespace: 'team' }))['signals'] as Fields[]).map(
        (each) => each['id'],
      );
    await until('the signal is there', async () => (await inbox(bob)).includes(id), PATIENT);
    assert.deepEqual(await inbox(eve), []);
    assert.equal((await eve.run('memory_signal_read', { id }))['signal'], null);
    assert.deepEqual(await eve.run('memory_signal_ack', { id }), { acknowledged: false });
    const read = await signal(bob, id);
    assert.deepEqual([read['verified'], read['body'], read['from_agent']], [true, { a: 1 }, ALICE]);
    assert.equal((await bob.run('memory_signal_ack', { id }))['acknowledged'], true);
    const acknowledged = async () => (await signal(alice, id))['acknowledged_at'] !== null;
    await until('the acknowledgement is there', acknowledged, PATIENT);
    const { read_at, acknowledged_at } = await signal(bob, id);
    const seen = await signal(alice, id);
    assert.deepEqual([seen['read_at'], seen['acknowledged_at']], [read_at, acknowledged_at]);
  });

  it('leases and moves actions on the node that made them, also from one that is behind', async () => {
    const made = await alice.run('memory_action_create', { namespace: 'team', kind: 'work', title: 'do it' });
    const id = made['id'];
    const action = async (who: Agent) =>
      (await who.run('memory_action_get', { id }))['action'] as Fields | null;
    const stateFor = async (who: Agent) => (await action(who))?.['state'];
    await until('the action is there', async () => (await stateFor(bob)) === 'pending', PATIENT);
    const lease = async (who: Agent, holder: string, ttl_secs: number) =>
      (await who.run('memory_lease_acquire', { action_id: id, holder, ttl_secs }))['lease'] as Fields;
    const first = await lease(bob, BOB, 3);
    const token = { fencing_token: first['fencing_token'] };
    // Nobody waits for what the home has written to arrive on the other node.
    for (const to of ['claimed', 'in_progress'])
      await bob.run('memory_action_transition', { id, to, ...token });
    assert.deepEqual([await stateFor(alice), (await action(alice))?.['claimed_by']], ['in_progress', BOB]);
    const held = await eve.refused('memory_lease_acquire', { action_id: id, holder: EVE });
    assert.deepEqual([held['code'], held['holder']], ['LEASE_HELD', BOB]);
    const ended = async () => (await alice.run('memory_lease_get', { action_id: id }))['lease'] === null;
    await until('the home has ended the lease', ended, PATIENT);
    const renewal = { action_id: id, holder: BOB, ...token };
    assert.equal((await bob.refused('memory_lease_renew', renewal))['code'], 'LEASE_LOST');
    const second = await lease(eve, EVE, 600);
    assert.ok(Number(second['fencing_token']) > Number(first['fencing_token']));
    const late = await bob.refused('memory_action_transition', { id, to: 'done', ...token });
    assert.equal(late['code'], 'LEASE_LOST');
    const done = { id, to: 'done', fencing_token: second['fencing_token'], claimed_by: EVE };
    await eve.run('memory_action_transition', done);
    await until('the end is there', async () => (await stateFor(bob)) === 'done', PATIENT);
    const { last_transition: last } = await alice.run('memory_action_get', { id });
    const { moved_by, claimed_by, verified } = last as Fields;
    assert.deepEqual([moved_by, claimed_by, verified], [EVE, EVE, true]);
  });

  it('decides checkpoints on the node that made them, whoever asks where', async () => {
    const made = await alice.run('memory_checkpoint_create', { namespace: 'team', title: 'ship it' });
    const id = made['id'];
    ids['checkpoint'] = id;
    const state = async (who: Agent) =>
      ((await who.run('memory_checkpoint_verify', { id }))['checkpoint'] as Fields | null)?.['state'];
    await until('the checkpoint is there', async () => (await state(bob)) === 'pending', PATIENT);
    const verdict = { id, state: 'resolved', resolution: 'go' };
    const resolved = (await bob.run('memory_checkpoint_resolve', verdict))['checkpoint'] as Fields;
    assert.deepEqual([resolved['state'], resolved['resolved_by']], ['resolved', BOB]);
    assert.equal(await state(alice), 'resolved', 'its home has decided');
    const late = await eve.refused('memory_checkpoint_resolve', { id, state: 'rejected' });
    assert.equal(late['code'], 'CHECKPOINT_RESOLVED');
    await until('the verdict is there', async () => (await state(bob)) === 'resolved', PATIENT);
    for (const who of [alice, bob])
      assert.deepEqual(await who.run('memory_checkpoint_verify', { id }), {
        ...{ checkpoint: resolved, verified: true },
      });
  });

  it('runs a routine of one node on the other', async () => {
    const template = {
      actions: [
        { kind: 'build', title: 'build {{what}}' },
        { kind: 'test', title: 'test' },
      ],
      edges: [{ from: 1, to: 0, type: 'requires' }],
    };
    const made = await alice.run('memory_routine_create', { namespace: 'team', name: 'release', template });
    const id = made['id'];
    const frozen = await alice.run('memory_routine_freeze', { id });
    const listed = async (who: Agent) =>
      (await who.run('memory_routine_list', { namespace: 'team', state: 'frozen' }))['routines'];
    await until('the routine is there', async () => ((await listed(bob)) as unknown[]).length === 1, PATIENT);
    assert.deepEqual(await listed(bob), [frozen['routine']]);
    const ran = await bob.run('memory_routine_run', { routine_id: id, arguments: { what: 'it' } });
    const run_id = (ran['run'] as Fields)['id'];
    ids['run'] = run_id;
    const status = await bob.run('memory_routine_status', { run_id });
    assert.deepEqual(status, { run: ran['run'], actions: { pending: 2 } });
    const isThere = async () => {
      const there = await alice.run('memory_routine_status', { run_id });
      return JSON.stringify(there) === JSON.stringify(status);
    };
    await until('the run and its actions are there', isThere, PATIENT);
  });

  it('keeps all of it over a kill', async () => {
    const seen = async () => [
      await signal(alice, ids['signal']),
      await alice.run('memory_checkpoint_verify', { id: ids['checkpoint'] }),
      await alice.run('memory_routine_status', { run_id: ids['run'] }),
      await alice.run('memory_routine_list', { namespace: 'team' }),
    ];
    const before = await seen();
    await Promise.all(agents.map((agent) => agent.end()));
    await one.end('SIGKILL');
    await one.start();
    await begin();
    assert.deepEqual(await seen(), before);
  });

  it('leaves databases that agree with their logs, quotas included', () => mesh.end());
});
