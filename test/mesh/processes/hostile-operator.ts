import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, it, type TestContext } from 'node:test';
import { cleanEnvironment, freePort, MAIN, startDaemonProcess } from '../../support/daemon-process.js';
import { drawSeed, underSeed } from '../../support/seed.js';
import { event } from '../../support/wait.js';
import { McpProcess, textOf } from '../../surface/mcp/mcp-process.js';
import { checkHistory } from './check-history.js';
import { ClientHistory } from './client-history.js';
import { assertKept } from './fault-run.js';
import { ProcessMesh } from './process-mesh.js';
import type { ProcessNode } from './process-node.js';
import { Writers } from './writers.js';

const pause = (ms: number) => new Promise((resume) => setTimeout(resume, ms));
const DRAIN_WITHIN_MS = 30_000;

interface Plan {
  /** When joins are killed. */
  readonly killsAfterMs: readonly number[];
  /** True for all that operators do, false for the killed joins alone. */
  readonly whole: boolean;
}

/** What operators do that nobody told them to. */
export const hostileOperator = ({ killsAfterMs, whole }: Plan) => {
  let mesh: ProcessMesh;
  const history = new ClientHistory();
  let writers: Writers;
  const seed = drawSeed();
  /** A test whose clients draw from the seed. */
  const drawn = (name: string, run: (context: TestContext) => Promise<void>) =>
    it(name, (context) => underSeed(() => run(context), seed));
  const further: typeof drawn = whole ? drawn : () => Promise.resolve();

  before(async () => {
    mesh = await ProcessMesh.form(2);
    writers = new Writers(mesh, history, seed);
  });
  after(() => mesh.close());

  const drained = async () => {
    await writers.stop();
    await mesh.drain(DRAIN_WITHIN_MS);
    assertKept(mesh, history);
  };

  drawn('lets a node join again whose join was killed at any moment', async (context) => {
    const node = await mesh.make();
    const ended: string[] = [];
    for (const killAfterMs of killsAfterMs) {
      const token = (await mesh.nodes[0]!.must(['mesh', 'invite'])).trim();
      const child = spawn(process.execPath, [MAIN, 'mesh', 'join', '-', ...node.place], {
        env: cleanEnvironment(node.home, node.environment),
        stdio: ['pipe', 'ignore', 'ignore'],
      });
      const gone = event('the join ends', child, 'exit');
      child.stdin!.end(token);
      await pause(killAfterMs);
      child.kill('SIGKILL');
      const [code, signal] = await gone;
      ended.push(String(signal ?? code));
      // What is left of a join does not keep a node from being one of its own.
      const status = await node.cli(['mesh', 'status', '--json']);
      assert.equal(status.code, 0, status.out + status.err);
    }
    assert.ok(ended.includes('SIGKILL'), 'no join was killed');
    context.diagnostic(`joins ended with ${ended.join(', ')}`);
    await mesh.join(node);
    await node.start();
    writers.start();
    await pause(500);
    await drained();
  });

  further('does not take a node back with less than it had', async () => {
    const node = mesh.nodes[1]!;
    const invite = (...scope: string[]) => mesh.nodes[0]!.must(['mesh', 'invite', ...scope]);
    const join = async (token: string) =>
      node.cli(['mesh', 'join', '-', ...node.place, '--json'], token.trim());
    const refused = await join(await invite('--namespaces', 'team/**'));
    assert.notEqual(refused.code, 0);
    assert.match(refused.out + refused.err, /was a member for every namespace/);
    const again = await join(await invite());
    assert.equal(again.code, 0, again.out + again.err);
  });

  further('serves one home by two daemons', async () => {
    const node = mesh.nodes[1]!;
    const port = await freePort();
    const second = await startDaemonProcess(node.home, port, node.environment, ['--quorum-writes', '2']);
    try {
      writers.start();
      const rows = await Promise.all(
        Array.from({ length: 20 }, async (_, n) => {
          const response = await fetch(`${second.base}/memories`, {
            method: 'POST',
            headers: { 'content-type': 'application/json', 'x-agent-id': 'ai:client' },
            body: JSON.stringify({ title: `second ${n}`, content: `of the second daemon ${n}` }),
          });
          return {
            status: response.status,
            body: (await response.json()) as { id: string; content: string },
          };
        }),
      );
      for (const [n, { status, body }] of rows.entries()) {
        assert.ok([201, 202].includes(status), JSON.stringify(body));
        history.wroteLocally(node, { title: `second ${n}`, id: body.id }, `of the second daemon ${n}`);
      }
    } finally {
      await second.end('SIGKILL');
    }
    await drained();
  });

  further('carries what MCP servers write, with the daemon running and without', async () => {
    const node = mesh.nodes[1]!;
    await mcpWrites(node, 'with a daemon');
    await drained();
    await node.end('SIGTERM');
    await mcpWrites(node, 'without a daemon');
    await node.start();
    await drained();
  });

  async function mcpWrites(node: ProcessNode, title: string): Promise<void> {
    const server = new McpProcess({ home: node.home, env: node.environment });
    await server.request(0, 'initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    });
    server.send({ method: 'notifications/initialized' });
    for (let n = 1; n <= 5; n += 1) {
      const content = history.freshText();
      const answer = await server.call(n, 'memory_store', { title: `${title} ${n}`, content });
      const { id } = JSON.parse(textOf(answer)) as { id: string };
      history.wroteLocally(node, { title, id }, content);
    }
    await server.end();
  }

  further('keeps what a node had replicated that is removed while it writes', async () => {
    const removed = mesh.nodes[2]!;
    writers.start();
    await pause(400);
    await mesh.nodes[0]!.must(['mesh', 'remove', removed.peerId]);
    await pause(1500);
    const late = await history.store(removed, 'after the removal');
    assert.equal(late.edits[0]!.outcome, 'local', 'nobody takes what a removed node writes');
    await writers.stop();
    assert.equal(await removed.end('SIGTERM'), 0);
    await removed.proxy.close();
    mesh.nodes.splice(mesh.nodes.indexOf(removed), 1);
    // What it wrote for itself alone went with it.
    removed.lives += 1;
    await mesh.drain(DRAIN_WITHIN_MS);
    assertKept(mesh, history);
    assert.ok(history.rows.some(({ edits }) => edits.some(({ node }) => node === removed)));
    const there = mesh.nodes.map((node) => checkHistory(node, history).problems);
    assert.deepEqual(there, [[], []]);
  });

  drawn('leaves every database as its log says', () => mesh.end());
};
