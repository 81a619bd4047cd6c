import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { WEBHOOK_EVENTS } from '../../../protocol/webhooks/event-types.js';
import { PROJECT } from '../../architecture/source-files.js';
import { startDaemonHere } from '../../support/daemon-here.js';
import { freePort, type RunningDaemon, temporaryFolder } from '../../support/daemon-process.js';
import { until } from '../../support/wait.js';
import { run } from './cli-process.js';

const SECRET = 'a secret of the command line';

describe('webhooks on the command line', { timeout: 180_000 }, () => {
  const home = temporaryFolder('cli-webhooks');
  let daemon: RunningDaemon;
  let receiver: ChildProcess;
  let printed = '';
  let url = '';
  before(async () => {
    daemon = await startDaemonHere(home, await freePort(), { SVC_ALLOW_LOOPBACK_WEBHOOKS: '1' });
    const port = await freePort();
    receiver = spawn(process.execPath, [join(PROJECT, 'fixtures/webhook-receiver.mjs')], {
      env: { ...process.env, HOOK_SECRET: SECRET, PORT: String(port) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let listens = false;
    receiver.stderr!.once('data', () => {
      listens = true;
    });
    receiver.stdout!.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
    await until('the example receiver listens', () => listens);
    url = `http://127.0.0.1:${port}/`;
  });
  after(async () => {
    receiver.kill();
    await daemon.end('SIGTERM');
  });

  const told = async (args: readonly string[], options: Parameters<typeof run>[2] = {}) => {
    const { code: exit, out, err } = await run(home, [...args, '--json'], options);
    const body = JSON.parse(exit === 0 ? out : err) as Record<string, unknown>;
    return { ...body, exit } as Record<string, unknown>;
  };

  it('take a secret from standard input, a variable or a file, and never from an argument', async () => {
    const shown = await told(['subscribe', url, '--secret', SECRET]);
    assert.deepEqual([shown['exit'], shown['code']], [2, 'INVALID_ARGUMENT']);
    assert.match(String(shown['error']), /takes no secret/);
    assert.ok(!JSON.stringify(shown).includes(SECRET), 'and do not repeat it');
    const file = join(home, 'hook.key');
    writeFileSync(file, `${SECRET}\n`);
    const loose = await told(['subscribe', url, '--secret', `file:${file}`]);
    assert.match(String(loose['error']), /chmod 600/);
    chmodSync(file, 0o400);
    const ids: string[] = [];
    for (const [source, options] of [
      [`file:${file}`, {}],
      ['env:HOOK_SECRET', { env: { HOOK_SECRET: SECRET } }],
      ['-', { stdin: `${SECRET}\n` }],
    ] as const) {
      const made = await told(['subscribe', url, '--secret', source, '--events', 'memory_store'], options);
      assert.equal(made['exit'], 0, JSON.stringify(made));
      ids.push(String(made['id']));
    }
    const listed = await told(['list-subscriptions']);
    assert.equal(listed['count'], 3);
    assert.ok(!JSON.stringify(listed).includes('secret'));

    const stored = await told(['store', '--title', 'told', '--content', 'on the command line']);
    const events = () =>
      printed
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    await until('the example receiver takes three events', () => events().length === 3, {
      seen: () => printed,
    });
    for (const event of events()) assert.equal(event['memory_id'], stored['id']);
    for (const id of ids) {
      await until('it is acknowledged', async () => {
        const replayed = await told(['subscription-replay', id, '2020-01-01T00:00:00Z']);
        const [event] = replayed['events'] as Record<string, unknown>[];
        return event?.['delivery_status'] === 'ack';
      });
    }
    const dead = await told(['subscription-dlq-list']);
    assert.equal(dead['count'], 0);
    const listedId = ids[0]!.slice(0, 8);
    assert.equal((await told(['subscription-replay', listedId, '2020-01-01T00:00:00Z']))['count'], 1);
    assert.equal(
      (await told(['subscription-dlq-list', '--subscription-id', listedId]))['subscription_id'],
      ids[0],
    );
    assert.equal((await told(['unsubscribe', listedId.slice(0, 7)]))['removed'], false);
    const gone = await run(home, ['unsubscribe', listedId]);
    assert.equal(gone.out, `unsubscribed: ${ids[0]}\n`);
    assert.equal((await told(['list-subscriptions']))['count'], 2);
  });

  it('show in doctor, capabilities and metrics', async () => {
    const doctor = await run(home, ['doctor', '--json']);
    const { sections } = JSON.parse(doctor.out) as {
      sections: { name: string; facts: [string, unknown][] }[];
    };
    const facts = new Map(sections.find(({ name }) => name === 'Webhook')!.facts);
    assert.equal(String(facts.get('subscriptions')), '2');
    const { origin } = new URL(daemon.base);
    const scraped = async () => (await fetch(`${origin}/metrics`)).text();
    await until('the gauges are set', async () => /svc_webhook_subscriptions 2\b/.test(await scraped()));
    assert.match(await scraped(), /svc_webhook_attempts_total\{outcome="ack"\} 3/);
    const ask = async (agent: string) => {
      const answer = await fetch(`${daemon.base}/capabilities`, { headers: { 'x-agent-id': agent } });
      return ((await answer.json()) as { hooks: Record<string, unknown> }).hooks;
    };
    assert.equal((await ask('ai:other'))['registered_count'], 0, 'those of the operator are not its own');
    assert.deepEqual((await ask('ai:other'))['webhook_events'], [...WEBHOOK_EVENTS]);
  });
});
