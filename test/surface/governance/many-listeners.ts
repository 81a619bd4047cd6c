import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { startDaemonProcess } from '../../support/daemon-process.js';
import { EventListener } from '../../support/event-listener.js';
import { GovernedDaemon, REQUESTER } from '../../support/governed-daemon.js';

const DECISIONS = 200;
const AT_ONCE = 20;
const MIB = 1024 * 1024;

async function residentMib(node: GovernedDaemon): Promise<number> {
  const metrics = await (await fetch(`${node.base}/metrics`)).text();
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(metrics)![1]) / MIB;
}

/** Opens so many listeners, makes 200 decisions, and checks that each listener gets each of them once and in order. */
export async function decideBeforeListeners(listeners: number, context: TestContext): Promise<void> {
  const node = await GovernedDaemon.start({}, startDaemonProcess);
  try {
    const before = await residentMib(node);
    const open: EventListener[] = [];
    for (let opened = 0; opened < listeners; opened += 50) {
      const some = Array.from({ length: 50 }, () => EventListener.open(node.base, REQUESTER));
      open.push(...(await Promise.all(some)));
    }
    assert.ok(open.every(({ status }) => status === 200));
    const idle = await residentMib(node);
    const beganMs = performance.now();
    for (let made = 0; made < DECISIONS; made += AT_ONCE) {
      const some = Array.from({ length: AT_ONCE }, async (_, index) => {
        const id = await node.request(`decided ${made + index}`);
        await node.decide(id, index % 2 === 0 ? 'approve' : 'reject');
      });
      await Promise.all(some);
    }
    const decidedMs = performance.now() - beganMs;
    const expected = (await open[0]!.heard(2 * DECISIONS)).map(({ id }) => id);
    for (const listener of open) await listener.heard(2 * DECISIONS, 60_000);
    const heardMs = performance.now() - beganMs;
    const after = await residentMib(node);
    for (const { events } of open) {
      assert.deepEqual(
        events.map(({ id }) => id),
        expected,
      );
    }
    assert.deepEqual(
      expected,
      [...new Set(expected)].sort((a, b) => a - b),
    );
    const decided = open.at(-1)!.events.filter(({ event }) => event === 'approval_decided');
    assert.equal(new Set(decided.map(({ data }) => data['pending_id'])).size, DECISIONS);
    context.diagnostic(
      `${listeners} listeners: ${(((idle - before) * 1024) / listeners).toFixed(1)} KiB each when idle; resident ` +
        `${before.toFixed(0)} MiB before, ${idle.toFixed(0)} with them, ${after.toFixed(0)} after ${DECISIONS} decisions; ` +
        `decided in ${decidedMs.toFixed(0)} ms, all heard after ${heardMs.toFixed(0)} ms`,
    );
    const stopMs = performance.now();
    await node.end();
    assert.ok(open.every(({ ended }) => ended === 'clean'));
    context.diagnostic(`the node ended in ${(performance.now() - stopMs).toFixed(0)} ms`);
  } finally {
    await node.end();
  }
}
