import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../support/wait.js';
import { WebhookDaemon } from '../support/webhook-daemon.js';
import { acknowledge, type Reply, WebhookReceiver } from '../support/webhook-receiver.js';

/** When a daemon is killed, seen from its receiver. */
export type Moment =
  | 'after a failed attempt'
  | 'while the receiver answers'
  | 'after the answer'
  | { readonly afterMs: number };

const STORES = 5;
/** In keyword mode the next daemon waits for the lease of the killed one. */
const TAKEN_OVER_WITHIN_MS = 60_000;

/**
 * Kills a daemon at a moment between the commit of a write and the end of its delivery, several times. Every event of
 * a write that was answered must arrive, in order, and every repetition must have the id and the bytes of the first.
 */
export async function killWhileDelivering(moments: readonly Moment[]): Promise<void> {
  const receiver = await WebhookReceiver.open();
  const node = await WebhookDaemon.start();
  const stored: string[] = [];
  try {
    await node.subscribe(receiver.url);
    for (const moment of moments) {
      let kill: () => void = () => undefined;
      const killed = new Promise<void>((resolve) => {
        kill = resolve;
      });
      receiver.reply = replyUntilKilled(moment, kill);
      const before = receiver.got.length;
      for (let n = 0; n < STORES; n += 1) stored.push(await node.store(`event ${stored.length}`));
      if (typeof moment === 'object') await pause(moment.afterMs);
      else if (moment === 'after a failed attempt')
        await until('an attempt', () => receiver.got.length > before);
      else await killed;
      receiver.reply = acknowledge;
      await node.restart('SIGKILL');
      const arrived = () => new Set(receiver.got.map(({ body }) => body.correlation_id)).size;
      await until('every event arrives', () => arrived() >= stored.length, {
        withinMs: TAKEN_OVER_WITHIN_MS,
        seen: () => `${arrived()} of ${stored.length} after ${JSON.stringify(moment)}`,
      });
    }
    const firsts = new Map<string, { readonly memory: unknown; readonly text: string }>();
    for (const { body, text } of receiver.got) {
      const first = firsts.get(body.correlation_id);
      if (first === undefined) firsts.set(body.correlation_id, { memory: body['memory_id'], text });
      else assert.equal(text, first.text, 'a repetition is the same');
    }
    assert.deepEqual(
      [...firsts.values()].map(({ memory }) => memory),
      stored,
      'each event once by its id, in the order of the writes',
    );
  } finally {
    await node.end();
    await receiver.close();
  }
}

function replyUntilKilled(moment: Moment, kill: () => void): Reply {
  if (typeof moment === 'object') return acknowledge;
  if (moment === 'after a failed attempt') return (_got, response) => void response.destroy();
  if (moment === 'while the receiver answers') return () => kill();
  return (got, response, receiver) => {
    void acknowledge(got, response, receiver);
    kill();
  };
}
