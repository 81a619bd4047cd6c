import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { cleanEnvironment, freePort, MAIN, temporaryFolder } from '../support/daemon-process.js';
import { event, untilAnswer } from '../support/wait.js';
import { run } from '../surface/cli/cli-process.js';
import { McpProcess, textOf } from '../surface/mcp/mcp-process.js';

/** What local processes say of a quorum that was given to the commands that formed the mesh, and never again. */

interface Node {
  readonly home: string;
  readonly port: number;
  child: ChildProcess;
}

const PATIENT = { withinMs: 60_000 } as const;
const nodes: Node[] = [];
const environment = (home: string) => cleanEnvironment(home, { SVC_LOG_LEVEL: 'error' });

/** Runs a command that must succeed. */
async function command({ home }: Pick<Node, 'home'>, ...words: string[]) {
  const { code, out, err } = await run(home, words, { env: { SVC_LOG_LEVEL: 'error' } });
  assert.equal(code, 0, out + err);
  return { out, err };
}

function spawned(home: string, words: readonly string[], input = ''): ChildProcess {
  const child = spawn(process.execPath, [MAIN, ...words], {
    env: environment(home),
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  child.stdin!.end(input);
  return child;
}

type Status = { readonly listening?: boolean; readonly replication?: { peers: { state: string }[] } };

const statusOf = async ({ port }: Node) =>
  (await (await fetch(`http://127.0.0.1:${port}/api/v1/mesh/status`)).json()) as Status;

const listens = (node: Node) =>
  untilAnswer(
    'the node listens for others',
    () => statusOf(node).catch(() => null),
    (status) => status?.listening === true,
    PATIENT,
  );

/** One command makes a node and runs it. */
async function add(words: readonly string[], input = ''): Promise<Node> {
  const home = temporaryFolder('local-quorum');
  const port = await freePort();
  const url = `https://127.0.0.1:${await freePort()}`;
  const flags = ['--url', url, '--serve', '--port', String(port), '--quorum-writes', '2'];
  const node = { home, port, child: spawned(home, ['mesh', ...words, ...flags], input) };
  nodes.push(node);
  await listens(node);
  return node;
}

async function end({ child }: Node, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await event('the node ends', child, 'exit', PATIENT);
}

describe('local processes on a mesh with a quorum of two', { timeout: 240_000 }, () => {
  let one: Node;
  let mcp: McpProcess;
  let calls = 0;

  const overMcp = async (title: string) => {
    calls += 1;
    const message = await mcp.call(calls, 'memory_store', { title, content: 'c' });
    return JSON.parse(textOf(message)) as Record<string, unknown>;
  };
  const byCommand = async (title: string) => {
    const { out } = await command(one, 'store', '--json', '--title', title, '--content', 'c');
    return JSON.parse(out) as Record<string, unknown>;
  };
  const isLocal = (answer: Record<string, unknown>) => {
    const { quorum_met: met, durability, acks, needed, quorum_acks: none } = answer;
    assert.deepEqual(
      { met, durability, acks, needed, none },
      {
        ...{ met: false, durability: 'local', acks: 1, needed: 2, none: undefined },
      },
    );
    assert.match(String(answer['op_id']), /\/\d+$/);
    assert.equal(typeof answer['id'], 'string');
  };

  before(async () => {
    one = await add(['init']);
    for (let n = 0; n < 2; n += 1) {
      const { out } = await command(one, 'mesh', 'invite');
      await add(['join', '-'], out);
    }
    mcp = new McpProcess({ home: one.home });
    const clientInfo = { name: 'quorum', version: '1' };
    await mcp.request('open', 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
    mcp.send({ method: 'notifications/initialized' });
  });
  after(async () => {
    await mcp.end();
    for (const node of nodes) await end(node, 'SIGTERM');
  });

  it('answer how many nodes have a write', async () => {
    const [first, second] = [await overMcp('over mcp'), await byCommand('by a command')];
    for (const answer of [first, second]) {
      assert.ok(Number(answer['quorum_acks']) >= 2, JSON.stringify(answer));
      assert.equal(answer['quorum_met'], undefined);
    }
    const { out, err } = await command(one, 'store', '--title', 'for people', '--content', 'c');
    assert.match(out, /^stored: /);
    assert.doesNotMatch(err, /only/);
  });

  it('say that a write is on this node only when both others were killed', async () => {
    await Promise.all(nodes.slice(1).map((node) => end(node, 'SIGKILL')));
    isLocal(await overMcp('alone over mcp'));
    isLocal(await byCommand('alone by a command'));
    const { out, err } = await command(one, 'store', '--title', 'alone for people', '--content', 'c');
    assert.match(out, /^stored: /);
    assert.match(err, /on this node only: the quorum is 2/);
  });

  it('still do after a bare "serve", which keeps the quorum', async () => {
    await end(one, 'SIGTERM');
    one.child = spawned(one.home, ['serve', '--port', String(one.port)]);
    await listens(one);
    const { out } = await command(one, 'config', 'show', '--json');
    const { settings } = JSON.parse(out) as { settings: { key: string; value: unknown; source: string }[] };
    const quorum = settings.find(({ key }) => key === 'quorumWrites' || key === 'quorum.writes');
    assert.deepEqual([quorum?.value, quorum?.source], [2, 'mesh']);
    isLocal(await byCommand('after the restart'));
    const again = await untilAnswer(
      'the MCP server is back at the daemon',
      () => overMcp(`after the restart ${calls}`),
      ({ quorum_met: met }) => met !== undefined,
    );
    isLocal(again);
  });
});
