import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { freePort, startDaemonProcess, temporaryFolder } from '../../support/daemon-process.js';
import { onlyOnSqlite } from '../../support/test-store.js';
import { until } from '../../support/wait.js';
import { OWNER, WebhookDaemon } from '../../support/webhook-daemon.js';
import { acknowledge, WebhookReceiver } from '../../support/webhook-receiver.js';
import { run } from './cli-process.js';

type Row = Record<string, unknown>;

/** Takes a backup of a node with an event that waits, which is delivered afterwards. */
async function backupWithWaitingEvent() {
  const receiver = await WebhookReceiver.open();
  const node = await WebhookDaemon.start();
  const { home } = node.daemon;
  receiver.reply = () => undefined;
  const subscription = await node.subscribe(receiver.url);
  const memory = await node.store('waits');
  await until('an attempt', () => receiver.got.length > 0);
  const made = await run(home, ['backup', '--to', join(home, 'backups'), '--json']);
  assert.equal(made.code, 0, made.err);
  receiver.reply = acknowledge;
  await until('it is delivered', async () => (await node.subscription(subscription))['pending_count'] === 0);
  const [first] = receiver.got;
  receiver.got.splice(0);
  return {
    receiver,
    node,
    subscription,
    memory,
    first: first!,
    path: String((JSON.parse(made.out) as Row)['path']),
  };
}

async function told(home: string, ...args: string[]): Promise<Row> {
  const { code, out, err } = await run(home, [...args, '--json']);
  assert.equal(code, 0, err);
  return JSON.parse(out) as Row;
}

describe('a backup with an event that waits', {
  timeout: 240_000,
  skip: onlyOnSqlite('a backup is a copy of the file'),
}, () => {
  it('sends it again, as it was, where it is restored on its own machine', async () => {
    const { receiver, node, memory, first, path } = await backupWithWaitingEvent();
    const { home } = node.daemon;
    try {
      await node.end();
      const restored = await told(home, 'restore', '--from', path);
      assert.equal(restored['quarantined_subscriptions'], 0);
      node.daemon = await startDaemonProcess(home, node.port, node.env);
      await until('the event comes again', () => receiver.got.length === 1);
      assert.deepEqual(
        [receiver.got[0]!.text, receiver.got[0]!.body['memory_id']],
        [first.text, memory],
        'a receiver that remembers ids knows it',
      );
      await node.store('after the restore');
      await until('the next event comes', () => receiver.got.length === 2);
      assert.notEqual(receiver.got[1]!.body.correlation_id, first.body.correlation_id);
    } finally {
      await node.end();
      await receiver.close();
    }
  });

  for (const [how, copy] of [
    ['restored', (home: string, path: string) => told(home, 'restore', '--from', path)],
    ['copied', async (home: string, path: string) => cpSync(path, join(home, 'mnemesh.db'))],
  ] as const) {
    it(`sends nothing where it is ${how} on another machine, until its owner says so`, async () => {
      const { receiver, node, subscription, first, path } = await backupWithWaitingEvent();
      const home = temporaryFolder('webhook-copy');
      const answered = await copy(home, path);
      if (answered !== undefined) assert.equal(answered['quarantined_subscriptions'], 1);
      const other = await startDaemonProcess(home, await freePort(), node.env);
      try {
        const onCopy = async (method: string, at: string, body?: Row) => {
          const response = await fetch(`${other.base}${at}`, {
            method,
            headers: { 'content-type': 'application/json', 'x-agent-id': OWNER },
            ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          });
          return (await response.json()) as Row;
        };
        await onCopy('POST', '/memories', { title: 'made on the copy', content: 'words' });
        const { subscriptions } = await onCopy('GET', '/subscriptions');
        const [{ status, pending_count, dlq_count }] = subscriptions as [Row];
        assert.deepEqual([status, pending_count, dlq_count], ['quarantined', 2, 0]);
        await node.store('on the original');
        await until('the original goes on', () => receiver.got.length === 1);
        const doctor = await run(home, ['doctor', '--json']);
        assert.match(doctor.out, /WEBHOOK_QUARANTINED/);

        await onCopy('POST', '/memory_subscription_replay', {
          ...{ subscription_id: subscription, since: '2020-01-01T00:00:00Z', resend: true },
        });
        await until('the copy sends both', () => receiver.got.length === 3);
        assert.equal(receiver.got[1]!.text, first.text);
      } finally {
        await other.end('SIGTERM');
        await node.end();
        await receiver.close();
      }
    });
  }
});
