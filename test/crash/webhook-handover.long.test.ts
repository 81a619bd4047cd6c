import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { freePort, startDaemonProcess } from '../support/daemon-process.js';
import { until } from '../support/wait.js';
import { OWNER, WebhookDaemon } from '../support/webhook-daemon.js';
import { acknowledge, WebhookReceiver } from '../support/webhook-receiver.js';
import { run } from '../surface/cli/cli-process.js';
import { McpProcess, textOf } from '../surface/mcp/mcp-process.js';

/** The next daemon waits for the lease of a killed one. */
const TAKEN_OVER_WITHIN_MS = 60_000;

/** A lease lasts ten seconds. A retry may wait for one, and the machine is busy. */
const NOTICED_WITHIN_MS = 5000;

describe('webhooks of several processes on one database', { timeout: 240_000 }, () => {
  const arrived = (receiver: WebhookReceiver) => [
    ...new Map(receiver.got.map(({ body }) => [body.correlation_id, body['memory_id']])).values(),
  ];
  const untilArrived = (receiver: WebhookReceiver, count: number) =>
    until(`${count} events arrive`, () => arrived(receiver).length >= count, {
      withinMs: TAKEN_OVER_WITHIN_MS,
      seen: () => JSON.stringify(arrived(receiver)),
    });

  it('are sent by one of two daemons, and by the other one when that is killed', async () => {
    const receiver = await WebhookReceiver.open();
    const first = await WebhookDaemon.start();
    const second = await startDaemonProcess(first.daemon.home, await freePort(), first.env);
    const stored: unknown[] = [];
    const storeOnBoth = async (count: number) => {
      for (let n = 0; n < count; n += 1) {
        stored.push(await first.store(`on the first ${stored.length}`));
        const response = await fetch(`${second.base}/memories`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-agent-id': OWNER },
          body: JSON.stringify({ title: `on the second ${stored.length}`, content: 'words' }),
        });
        assert.equal(response.status, 201);
        stored.push(((await response.json()) as { id: string }).id);
      }
    };
    try {
      const id = await first.subscribe(receiver.url);
      await storeOnBoth(10);
      await until('nothing waits', async () => (await first.subscription(id))['pending_count'] === 0);
      assert.deepEqual(
        receiver.got.map(({ body }) => body['memory_id']),
        stored,
        'each event came once, in the order of the writes',
      );
      receiver.reply = (_got, response) => void response.destroy();
      const before = receiver.got.length;
      await storeOnBoth(3);
      await until('an attempt', () => receiver.got.length > before);
      await first.daemon.end('SIGKILL');
      receiver.reply = acknowledge;
      const killedMs = performance.now();
      await untilArrived(receiver, stored.length);
      const tookMs = performance.now() - killedMs;
      assert.ok(tookMs < NOTICED_WITHIN_MS, `the other one takes over after ${tookMs} ms, not after a lease`);
      assert.deepEqual(arrived(receiver), stored);
    } finally {
      await first.daemon.end('SIGKILL');
      await second.end('SIGTERM');
      await receiver.close();
    }
  });

  it('of writes of an MCP server and of commands while no daemon runs are sent when one starts', async () => {
    const receiver = await WebhookReceiver.open();
    const node = await WebhookDaemon.start();
    const env = { SVC_AGENT_ID: OWNER };
    try {
      await node.subscribe(receiver.url);
      await node.daemon.end('SIGKILL');
      const mcp = new McpProcess({ home: node.daemon.home, env });
      const stored: unknown[] = [];
      const storeByTool = async () => {
        const n = stored.length;
        const said = textOf(await mcp.call(n + 1, 'memory_store', { title: `tool ${n}`, content: 'words' }));
        stored.push((JSON.parse(said) as { id: string }).id);
      };
      for (let n = 0; n < 3; n += 1) await storeByTool();
      const command = ['store', '--title', 'command', '--content', 'words', '--json'];
      const done = await run(node.daemon.home, command, { env });
      assert.equal(done.code, 0, done.err);
      stored.push((JSON.parse(done.out) as { id: string }).id);
      await storeByTool();
      assert.deepEqual(receiver.got, [], 'no other process sends');
      // The server goes on, and maintained the database until now.
      await node.restart('SIGKILL');
      await untilArrived(receiver, stored.length);
      await storeByTool();
      await untilArrived(receiver, stored.length);
      assert.deepEqual(arrived(receiver), stored);
      assert.equal(receiver.got.length, stored.length);
      await mcp.end();
    } finally {
      await node.end();
      await receiver.close();
    }
  });
});
