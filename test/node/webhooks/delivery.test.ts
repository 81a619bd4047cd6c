import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { until, untilAnswer } from '../../support/wait.js';
import { OTHER, OWNER, WebhookDaemon } from '../../support/webhook-daemon.js';
import { acknowledge, expectedSignature, SECRET, WebhookReceiver } from '../../support/webhook-receiver.js';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('webhooks of a daemon', { timeout: 180_000 }, () => {
  let node: WebhookDaemon;
  let receiver: WebhookReceiver;
  before(async () => {
    node = await WebhookDaemon.start();
    receiver = await WebhookReceiver.open();
  });
  after(async () => {
    await node.end();
    await receiver.close();
  });

  afterEach(async () => {
    const { subscriptions } = await node.done(OWNER, 'GET', '/subscriptions');
    for (const { id } of subscriptions as { id: string }[])
      await node.done(OWNER, 'DELETE', `/subscriptions?id=${id}`);
    receiver.reply = acknowledge;
    receiver.got.splice(0);
  });

  const forNext = async (count: number) => {
    await until(`${count} events arrive`, () => receiver.events.length >= count, {
      seen: () => JSON.stringify(receiver.events),
    });
    const got = receiver.got.splice(0);
    return got;
  };

  it('sends each event signed, with the same id in header and body', async () => {
    const id = await node.subscribe(receiver.url);
    const memory = await node.store('signed', { namespace: 'team/alpha' });
    const [got] = await forNext(1);
    assert.equal(got!.headers['x-svc-signature'], expectedSignature(got!));
    assert.equal(got!.headers['x-svc-correlation-id'], got!.body.correlation_id);
    assert.match(got!.body.correlation_id, UUID_V7);
    assert.equal(got!.headers['content-type'], 'application/json');
    assert.match(String(got!.headers['user-agent']), /^mnemesh\//);
    assert.ok(Math.abs(Number(got!.headers['x-svc-timestamp']) - Date.now() / 1000) < 60);
    const { correlation_id: _id, delivered_at, ...body } = got!.body;
    assert.ok(Number.isFinite(Date.parse(String(delivered_at))));
    assert.deepEqual(body, {
      event: 'memory_store',
      memory_id: memory,
      namespace: 'team/alpha',
      agent_id: OWNER,
    });
    const shown = await untilAnswer(
      'the delivery is counted',
      () => node.subscription(id),
      ({ dispatch_count }) => dispatch_count === 1,
    );
    assert.deepEqual([shown['failure_count'], shown['pending_count'], shown['status']], [0, 0, 'active']);
    assert.ok(!JSON.stringify(shown).includes(SECRET));
  });

  it('sends what each kind of change is called', async () => {
    await node.subscribe(receiver.url);
    const first = await node.store('first', { tier: 'short', namespace: 'team/alpha' });
    const second = await node.store('second', { namespace: 'team/alpha' });
    await node.done(OWNER, 'POST', `/memories/${first}/promote`);
    const link = { source_id: first, target_id: second, relation: 'supersedes' };
    await node.done(OWNER, 'POST', '/links', link);
    await node.done(OWNER, 'POST', '/kg/invalidate', link);
    const joined = await node.done(OWNER, 'POST', '/consolidate', {
      ids: [first, second],
      title: 'joined',
      summary: 'both',
      namespace: 'team/alpha',
    });
    await node.done(OWNER, 'DELETE', `/memories/${String(joined['id'])}`);
    const got = await forNext(9);
    const all = got.map(({ body }): Record<string, unknown> => {
      const { correlation_id: _c, delivered_at: _d, ...rest } = body;
      return rest;
    });
    const sources = all.filter(({ reason }) => reason === 'consolidate');
    assert.deepEqual(
      sources.map(({ event, memory_id }) => [event, memory_id]),
      [first, second].map((id) => ['memory_delete', id]),
    );
    const said = all.filter(({ reason }) => reason !== 'consolidate');
    const common = { namespace: 'team/alpha', agent_id: OWNER };
    const { valid_until, ...invalidated } = said[4] as Record<string, unknown>;
    assert.ok(Number.isFinite(Date.parse(String(valid_until))));
    assert.deepEqual(
      [...said.slice(0, 4), invalidated, ...said.slice(5)],
      [
        { event: 'memory_store', memory_id: first, ...common },
        { event: 'memory_store', memory_id: second, ...common },
        { event: 'memory_promote', memory_id: first, ...common, mode: 'tier', tier: 'long' },
        {
          ...{ event: 'memory_link_created', memory_id: first, ...common },
          ...{ target_id: second, relation: 'supersedes' },
        },
        {
          ...{ event: 'memory_link_invalidated', memory_id: first, ...common },
          ...{ target_id: second, relation: 'supersedes' },
        },
        {
          ...{ event: 'memory_consolidated', memory_id: joined['id'], ...common },
          ...{ source_ids: [first, second], source_count: 2 },
        },
        {
          ...{ event: 'memory_delete', memory_id: joined['id'], ...common },
          ...{ title: 'joined', tier: 'long', reason: 'delete' },
        },
      ],
    );
  });

  it('narrows by event, namespace and agent, and never tells of what its owner may not see', async () => {
    await node.subscribe(receiver.url, { events: 'memory_delete' });
    await node.subscribe(receiver.url, { namespace_filter: 'here' });
    await node.subscribe(receiver.url, { agent_filter: OTHER });
    await node.store('there', { namespace: 'there' });
    await node.store('hidden', { namespace: 'here', scope: 'private' }, OTHER);
    const hidden = await node.store('hidden too', { scope: 'private' }, OTHER);
    await node.done(OTHER, 'DELETE', `/memories/${hidden}`);
    const seen = await node.store('seen', { namespace: 'here' });
    const theirs = await node.store('theirs', { namespace: 'there' }, OTHER);
    await node.done(OTHER, 'DELETE', `/memories/${theirs}`);
    const got = await forNext(4);
    assert.deepEqual(
      got.map(({ body }) => `${body.event} ${String(body['memory_id'])}`).sort(),
      [
        `memory_delete ${theirs}`,
        `memory_delete ${theirs}`,
        `memory_store ${seen}`,
        `memory_store ${theirs}`,
      ].sort(),
    );
  });

  it('tries again with the same id, and makes what stays unanswered a dead letter', async () => {
    const id = await node.subscribe(receiver.url);
    receiver.reply = (_got, response) => {
      response.writeHead(500).end();
    };
    await node.store('refused');
    const shown = await untilAnswer(
      'the event is given up',
      () => node.subscription(id),
      ({ dlq_count }) => dlq_count === 1,
    );
    assert.equal(shown['failure_count'], 1);
    assert.equal(receiver.got.length, 4);
    assert.equal(receiver.events.length, 1, 'one id');
    const dead = await node.done(OWNER, 'POST', '/memory_subscription_dlq_list', { subscription_id: id });
    const [entry] = dead['entries'] as Record<string, unknown>[];
    assert.deepEqual([entry!['retry_count'], entry!['last_error']], [4, 'http-500']);
    assert.deepEqual(entry!['payload'], receiver.got[0]!.body);
    const others = await node.done(OTHER, 'POST', '/memory_subscription_dlq_list', { subscription_id: id });
    assert.equal(others['count'], 0, 'another agent sees nothing of it');
    const depthsOf = async (agent: string) => {
      const { dlq_depth, approval } = await node.done(agent, 'GET', '/capabilities');
      return [dlq_depth, (approval as Record<string, unknown>)['deferred_audit_dlq_size']];
    };
    assert.deepEqual(await depthsOf(OWNER), [1, 1]);
    assert.deepEqual(await depthsOf(OTHER), [0, 0]);

    receiver.reply = acknowledge;
    receiver.got.splice(0);
    const since = '2020-01-01T00:00:00Z';
    const again = { subscription_id: id, since, resend: true };
    const none = await node.done(OTHER, 'POST', '/memory_subscription_replay', again);
    assert.deepEqual([none['count'], none['resent']], [0, 0]);
    const resent = await node.done(OWNER, 'POST', '/memory_subscription_replay', again);
    assert.equal(resent['resent'], 1);
    const [got] = await forNext(1);
    assert.equal(got!.body.correlation_id, entry!['correlation_id']);
    await untilAnswer(
      'it is acknowledged',
      () => node.done(OWNER, 'POST', '/memory_subscription_replay', { subscription_id: id, since }),
      ({ events }) => (events as Record<string, unknown>[])[0]?.['delivery_status'] === 'ack',
    );
    assert.equal((await node.subscription(id))['dlq_count'], 0);
    assert.deepEqual(await depthsOf(OWNER), [0, 0]);
  });

  it('keeps the order of a subscription, also when one event needs several attempts', async () => {
    await node.subscribe(receiver.url);
    const refused = new Set<string>();
    receiver.reply = (got, response, all) => {
      const { correlation_id } = got.body;
      if (all.events.length % 3 === 0 && !refused.has(correlation_id)) {
        refused.add(correlation_id);
        response.writeHead(503).end();
      } else void acknowledge(got, response, all);
    };
    const stored: string[] = [];
    for (let n = 0; n < 12; n += 1) stored.push(await node.store(`ordered ${n}`));
    const got = await forNext(12);
    const order = [...new Map(got.map(({ body }) => [body.correlation_id, body['memory_id']])).values()];
    assert.deepEqual(order, stored);
    assert.ok(refused.size >= 3);
  });

  it('serves other subscriptions, and writes, while receivers do not answer', async () => {
    const silent = await WebhookReceiver.open();
    silent.reply = () => undefined;
    const medianOf = async (label: string) => {
      const took: number[] = [];
      for (let n = 0; n < 40; n += 1) {
        const beganMs = performance.now();
        await node.store(`${label} ${n}`);
        took.push(performance.now() - beganMs);
      }
      return took.sort((a, b) => a - b)[20]!;
    };
    try {
      await node.subscribe(receiver.url);
      const alone = await medianOf('quick');
      await forNext(40);
      for (let n = 0; n < 8; n += 1) await node.subscribe(silent.url);
      const beside = await medianOf('beside silence');
      await forNext(40);
      assert.ok(silent.got.length >= 8 && silent.got.length <= 16, `${silent.got.length} are under way`);
      assert.ok(beside < 5 * alone + 20, `a write took ${beside} ms, and ${alone} ms before`);
    } finally {
      await silent.close();
    }
  });

  it('tells of approvals only those whom they concern', async () => {
    const governance = { write: 'approve', approver: 'human' };
    await node.done(OTHER, 'POST', '/namespaces/asked/standard', { governance });
    for (const agent_id of [OWNER, OTHER])
      await node.done(agent_id, 'POST', '/agents', { agent_id, agent_type: 'ai:test' });
    await node.subscribe(receiver.url);
    await node.subscribe(receiver.url, { events: 'approval_requested,approval_decided' }, 'ai:third');
    const said = await node.done(OWNER, 'POST', '/memories', {
      ...{ title: 'asked for', content: 'words', namespace: 'asked' },
    });
    const pending = String(said['pending_id']);
    await node.done(OTHER, 'POST', `/pending/${pending}/approve`);
    const got = await forNext(3);
    const [requested, decided, stored] = ['approval_requested', 'approval_decided', 'memory_store'].map(
      (name) => got.find(({ body }) => body.event === name)?.body,
    );
    assert.deepEqual([requested!['memory_id'], requested!['agent_id']], [pending, OWNER]);
    assert.deepEqual([requested!['action_type'], requested!['status']], ['store', 'pending']);
    assert.deepEqual(
      [decided!['memory_id'], decided!['decision'], decided!['decided_by'], decided!['status']],
      [pending, 'approve', OTHER, 'approved'],
    );
    assert.equal(stored!['memory_id'], requested!['target_memory_id']);
    assert.equal(got.length, 3, 'the third agent hears nothing');
  });
});
