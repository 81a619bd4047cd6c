import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { RunningChild } from '../../actors/core/child.js';
import { InboxStream } from '../../actors/streams/inbox-stream.js';
import { WebhookQueue } from '../../actors/webhooks/webhook-queue.js';
import { inboxRoute } from '../../node/http/inbox-route.js';
import { limitedIn, withheldFromOwners } from '../../node/pipeline/limited-listeners.js';
import { BACKGROUND_POLICY } from '../../node/restart-policies.js';
import { systemClock, systemScheduler } from '../../node/seams.js';
import { recordingLog } from '../storage/vectors/real-seams.js';
import { aRule } from '../support/rules.js';
import type { HttpNode } from '../surface/http/http-node.js';
import { ADMIN, call, ONE, OPERATOR, open, type Row, TWO } from './reads.js';

describe('what is sent to an agent whom a policy keeps from a namespace', { timeout: 60_000 }, () => {
  let node: HttpNode;
  let queue: WebhookQueue;
  let hook: string;
  before(async () => {
    node = await open({ allowLoopbackWebhooks: true });
    const { services } = node;
    queue = new WebhookQueue({
      ...{ store: services.store, clock: systemClock, log: recordingLog(), concurrency: 4 },
      ...{ withheldFrom: withheldFromOwners(services), onAttempt: () => undefined },
    });
    const asked = { url: 'https://127.0.0.1:9/hook', secret: 'a secret of the hook' };
    const made = await call(node, 'memory_subscribe', asked, TWO);
    assert.ok(made.ok, JSON.stringify(made));
    hook = String(made.value['id']);
    for (const namespace of ['hidden/c', 'open']) await stored(namespace, 'before');
  });
  after(() => node.close());

  const stored = async (namespace: string, title: string) => {
    const kept = await call(
      node,
      'memory_store',
      { title, content: `a text of ${namespace}`, namespace },
      ONE,
    );
    assert.ok(kept.ok, JSON.stringify(kept));
  };
  const places = (bodies: readonly string[]) =>
    bodies.map((body) => (JSON.parse(body) as { namespace: string }).namespace);
  const due = async () => places((await queue.turn(hook))!.jobs.map(({ body }) => body));
  const history = async () => {
    const replay = { subscription_id: hook, since: '2020-01-01T00:00:00Z' };
    const found = await call(node, 'memory_subscription_replay', replay, TWO);
    assert.ok(found.ok, JSON.stringify(found));
    return (found.value['events'] as Row[]).length;
  };
  const pending = async () => {
    const found = await call(node, 'memory_list_subscriptions', {}, TWO);
    assert.ok(found.ok);
    return (found.value['subscriptions'] as Row[])[0]!['pending_count'];
  };

  it('are no events of webhooks, no history of them and no counts', async () => {
    assert.deepEqual(await due(), ['hidden/c', 'open']);
    assert.deepEqual([await history(), await pending()], [2, 2]);
    const governance = { write: 'any', read: 'owner' };
    const set = await call(node, 'memory_namespace_set_standard', { namespace: 'hidden', governance }, ADMIN);
    assert.ok(set.ok, JSON.stringify(set));
    await stored('hidden/d', 'after');
    assert.deepEqual(await due(), ['open']);
    assert.deepEqual([await history(), await pending()], [1, 1]);
  });

  it('are no retries of events that were sent before', async () => {
    const cleared = await call(node, 'memory_namespace_clear_standard', { namespace: 'hidden' }, ADMIN);
    assert.ok(cleared.ok);
    const turn = (await queue.turn(hook))!;
    await turn.end({ done: [], failed: { job: turn.jobs[0]!, error: 'network' } });
    const governance = { write: 'any', read: 'owner' };
    await call(node, 'memory_namespace_set_standard', { namespace: 'hidden', governance }, ADMIN);
    const found = await node.services.store.query({
      ...{ kind: 'next-deliveries', subscriptionId: hook, nowMs: Date.now() + 30_000, limit: 9 },
      withheld: ['^hidden(?:/|$)'],
    });
    assert.ok(found.ok);
    assert.deepEqual(places(found.value.deliveries.map(({ body }) => body)), ['open']);
    assert.equal(found.value.withheld.length, 1, 'it ends without being sent');
  });

  it('are no messages that a rule keeps from it', async () => {
    const note = { target_agent_id: 'ai:two', title: 'come here', payload: 'a message' };
    assert.ok((await call(node, 'memory_notify', note, ONE)).ok);
    const inbox = async () => {
      const found = await call(node, 'memory_inbox', {}, TWO);
      assert.ok(found.ok);
      return found.value['count'];
    };
    assert.equal(await inbox(), 1);
    const limited = limitedIn(node.services, 'memory_inbox');
    const store = node.services.store;
    const stream = new InboxStream({
      ...{ store, policy: BACKGROUND_POLICY, clock: systemClock, scheduler: systemScheduler },
    });
    const child: RunningChild = await stream.spec.start(new AbortController().signal);
    const admitted: unknown[] = [];
    const route = inboxRoute(
      {
        admit: (viewer, after) => {
          admitted.push(viewer.withheld);
          return stream.admit(viewer, after);
        },
      },
      limited,
    );
    await route.open({ caller: TWO, lastEventId: null });
    const governance = { rule_kind: 'read_action', matcher: { all: true } };
    const rule = { ...aRule('R-all'), ...governance, severity: 'refuse' };
    const put = { kind: 'put-rule', rule, replaces: null, by: 'ai:operator' } as never;
    assert.ok((await store.execute(put)).ok);
    assert.equal(await inbox(), 0);
    await route.open({ caller: TWO, lastEventId: null });
    assert.deepEqual(
      admitted.map((withheld) => (withheld as string[]).length),
      [1, 2],
    );
    const event = await store.query({
      kind: 'inbox-events',
      after: 0,
      limit: 9,
      now: new Date().toISOString(),
    });
    assert.ok(event.ok && event.value.events.length === 1);
    await child.stop();
    const all = await call(node, 'memory_list', {}, OPERATOR);
    assert.ok(all.ok && (all.value['memories'] as Row[]).length > 2);
  });
});
