import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SUBSCRIPTIONS_PER_AGENT_MAX } from '../../../protocol/base/limits.js';
import { OTHER, WebhookDaemon } from '../../support/webhook-daemon.js';
import { acknowledge, type Reply, WebhookReceiver } from '../../support/webhook-receiver.js';

const SUBSCRIPTIONS = 1000;
const STORES = 120;
/** What a store of another caller may take beside them, of what it takes without; and what a busy machine adds. */
const SLOWER_MAX = 1.5;
const NOISE_MS = 1;
const TRIES = 3;

const refuse: Reply = (_got, response) => void response.writeHead(500).end();

const medianOf = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!;

/** The medians of stores on each of two daemons, one after the other, so that the machine treats both alike. */
async function mediansMs(nodes: readonly WebhookDaemon[], label: string): Promise<readonly number[]> {
  const took: number[][] = nodes.map(() => []);
  for (let n = 0; n < STORES; n += 1) {
    for (const [at, node] of nodes.entries()) {
      const beganMs = performance.now();
      await node.store(`${label} ${n}`, {}, OTHER);
      took[at]!.push(performance.now() - beganMs);
    }
  }
  return took.map(medianOf);
}

describe('a thousand subscriptions of one caller', { timeout: 300_000 }, () => {
  for (const [how, reply] of [
    ['acknowledge', acknowledge],
    ['refuse', refuse],
  ] as const) {
    it(`do not slow the stores of another one while their receivers ${how}`, async (context) => {
      const receiver = await WebhookReceiver.open();
      receiver.reply = reply;
      const [quiet, busy] = [await WebhookDaemon.start(), await WebhookDaemon.start()];
      try {
        for (let n = 0; n < SUBSCRIPTIONS; n += 20) {
          const agent = `ai:many-${Math.floor(n / SUBSCRIPTIONS_PER_AGENT_MAX)}`;
          await Promise.all(Array.from({ length: 20 }, () => busy.subscribe(receiver.url, {}, agent)));
        }
        await mediansMs([quiet, busy], 'before');
        let seen = '';
        const held = async (at: number): Promise<boolean> => {
          const [alone, beside] = (await mediansMs([quiet, busy], `try ${at}`)) as [number, number];
          seen += ` ${alone.toFixed(2)} and ${beside.toFixed(2)} ms;`;
          return beside <= alone * SLOWER_MAX + NOISE_MS;
        };
        let isHeld = false;
        for (let at = 0; at < TRIES && !isHeld; at += 1) isHeld = await held(at);
        context.diagnostic(`medians without and with them:${seen}`);
        assert.ok(isHeld, `the medians without and with them:${seen}`);
        assert.ok(receiver.got.length > 0, 'events are sent meanwhile');
      } finally {
        await Promise.all([quiet.end(), busy.end()]);
        await receiver.close();
      }
    });
  }
});
