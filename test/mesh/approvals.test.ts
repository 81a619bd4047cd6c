import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { cleanEnvironment, freePort, MAIN } from '../support/daemon-process.js';
import { HookHome } from '../support/hooks.js';
import { event, until, untilAnswer } from '../support/wait.js';
import { run } from '../surface/cli/cli-process.js';

/** Actions that wait on one node and are decided on another. */

interface Node {
  readonly home: string;
  readonly port: number;
  child: ChildProcess;
  /** The titles that its hook heard after a store. */
  readonly told: () => readonly unknown[];
}
type Row = Record<string, unknown>;

const PATIENT = { withinMs: 60_000 } as const;
const nodes: Node[] = [];
const environment = (home: string) => cleanEnvironment(home, { SVC_LOG_LEVEL: 'error' });

function spawned(home: string, words: readonly string[], input = ''): ChildProcess {
  const child = spawn(process.execPath, [MAIN, ...words], {
    env: environment(home),
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  child.stdin!.end(input);
  return child;
}

const statusOf = async ({ port }: Node) =>
  (await (await fetch(`http://127.0.0.1:${port}/api/v1/mesh/status`)).json()) as Row;

async function add(words: readonly string[], input = ''): Promise<Node> {
  const hooks = new HookHome();
  const { home } = hooks;
  const hook = hooks.noting();
  hooks.register({ event: 'post_store', command: hook.command });
  const port = await freePort();
  const flags = ['--url', `https://127.0.0.1:${await freePort()}`, '--serve', '--port', String(port)];
  const child = spawned(home, ['mesh', ...words, ...flags], input);
  const node = { home, port, child, told: () => hook.events().map(({ payload }) => payload['title']) };
  nodes.push(node);
  await untilAnswer(
    'the node listens for others',
    () => statusOf(node).catch(() => null),
    (status) => status?.['listening'] === true,
    PATIENT,
  );
  return node;
}

async function end({ child }: Node, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await event('the node ends', child, 'exit', PATIENT);
}

async function call({ port }: Node, agent: string, method: string, path: string, body?: unknown) {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
    method,
    headers: { 'content-type': 'application/json', 'x-agent-id': agent },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Row };
}

describe('actions that wait on one node of a mesh', { timeout: 180_000 }, () => {
  let home: Node;
  let other: Node;

  /** An action that waits on the first node, and is known to the second. */
  async function waiting(title: string): Promise<string> {
    const asked = await call(home, 'ai:coder', 'POST', '/memories', {
      namespace: 'ask',
      title,
      content: 'c',
    });
    assert.equal(asked.status, 202, JSON.stringify(asked.body));
    const id = String(asked.body['pending_id']);
    await until(
      'the other node knows of it',
      async () => (await pendingOn(other, id)) !== undefined,
      PATIENT,
    );
    return id;
  }
  const pendingOn = async (node: Node, id: string) => {
    const { body } = await call(node, 'ai:coder', 'GET', '/pending?limit=1000');
    return (body['pending'] as Row[]).find((row) => row['id'] === id);
  };
  const titlesOn = async (node: Node) => {
    const { body } = await call(node, 'ai:coder', 'GET', '/memories?namespace=ask&limit=1000');
    return (body['memories'] as Row[]).map((row) => String(row['title']));
  };
  const storedOn = (node: Node, title: string) =>
    until(`${title} is stored`, async () => (await titlesOn(node)).includes(title), PATIENT);

  /** Hooks after a store hear of it where it is executed, once. */
  const toldOf = async (titles: readonly string[]) => {
    await until('the store is told', () => home.told().includes(titles.at(-1)), PATIENT);
    assert.deepEqual([home.told(), other.told()], [titles, []]);
  };

  before(async () => {
    home = await add(['init']);
    const invited = await run(home.home, ['mesh', 'invite'], { env: { SVC_LOG_LEVEL: 'error' } });
    assert.equal(invited.code, 0, invited.err);
    other = await add(['join', '-'], invited.out);
    await call(home, 'ai:lead', 'POST', '/agents', { agent_id: 'ai:lead', agent_type: 'ai:test' });
    const governance = { write: 'approve' };
    await call(home, 'ai:owner', 'POST', '/namespaces/ask/standard', { governance });
    await until(
      'the policy holds on the other node',
      async () =>
        (await call(other, 'ai:coder', 'GET', '/namespaces/ask/standard')).body['governance'] != null,
      PATIENT,
    );
  });
  after(async () => {
    for (const node of nodes) await end(node, 'SIGTERM');
  });

  it('are decided and executed by the first when an agent approves them on the second', async () => {
    const id = await waiting('across');
    const { status, body } = await call(other, 'ai:lead', 'POST', `/pending/${id}/approve`);
    assert.deepEqual([status, body['approved'], body['executed']], [200, true, true], JSON.stringify(body));
    await storedOn(home, 'across');
    await storedOn(other, 'across');
    await toldOf(['across']);
  });

  it('are executed once when they are approved on both at the same time', async () => {
    const id = await waiting('both');
    const answers = await Promise.all(
      [home, other].map((node) => call(node, 'ai:lead', 'POST', `/pending/${id}/approve`)),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
    await storedOn(other, 'both');
    assert.equal((await titlesOn(home)).filter((title) => title.startsWith('both')).length, 1);
    await toldOf(['across', 'both']);
  });

  it('keep a vote of the second while the first is away, and execute when it is back', async () => {
    const id = await waiting('away');
    await end(home, 'SIGKILL');
    const { status, body } = await call(other, 'ai:lead', 'POST', `/pending/${id}/approve`);
    assert.deepEqual([status, body['approved'], body['votes']], [202, false, 1], JSON.stringify(body));
    assert.match(String(body['reason']), /cannot be reached/);
    home.child = spawned(home.home, ['serve', '--port', String(home.port)]);
    await until(
      'the first node is back',
      async () => (await statusOf(home).catch(() => null)) !== null,
      PATIENT,
    );
    await storedOn(home, 'away');
    await storedOn(other, 'away');
    assert.equal((await pendingOn(other, id))?.['status'], 'approved');
    await toldOf(['across', 'both', 'away']);
  });
});
