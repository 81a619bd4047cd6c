import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { RunningChild } from '../../../actors/core/child.js';
import { InboxStream } from '../../../actors/streams/inbox-stream.js';
import { inboxRoute } from '../../../node/http/inbox-route.js';
import { BACKGROUND_POLICY } from '../../../node/restart-policies.js';
import { systemClock, systemScheduler } from '../../../node/seams.js';
import { ok } from '../../../protocol/base/result.js';
import type { Store } from '../../../storage/port.js';
import { EventListener } from '../../support/event-listener.js';
import { until } from '../../support/wait.js';
import { type HttpNode, openHttpNode } from './http-node.js';

const ADMIN = 'human:admin';
const [ALICE, BOB, EVE] = ['ai:alice', 'ai:bob', 'ai:eve'];
const LISTENERS_MAX = 4;

let node: HttpNode;
let stream: InboxStream;
let child: RunningChild;
before(async () => {
  // The surface is made before its node can be asked.
  const store: Pick<Store, 'query'> = {
    query: (query, options) => node.services.store.query(query, options),
  };
  stream = new InboxStream({
    ...{ store, policy: BACKGROUND_POLICY, clock: systemClock, scheduler: systemScheduler },
    ...{ listenersMax: LISTENERS_MAX, keepaliveMs: 500 },
  });
  child = await stream.spec.start(new AbortController().signal);
  node = await openHttpNode(
    { adminAgentIds: [ADMIN], adminHeaderTrust: true },
    { streamRoutes: [inboxRoute(stream, async (caller) => ok(caller))] },
  );
});
after(async () => {
  await node.close();
  await child.stop();
});

const open = (agent: string | null, lastEventId?: number) =>
  EventListener.open(`http://127.0.0.1:${node.port}/api/v1`, agent, {
    path: '/inbox/stream',
    ...(lastEventId === undefined ? {} : { lastEventId }),
  });
async function notify(from: string, to: string, title: string, payload = 'text'): Promise<string> {
  const body = { target_agent_id: to, title, payload };
  const answer = await node.send('POST', '/api/v1/notify', body, { 'x-agent-id': from });
  assert.equal(answer.status, 201, answer.text);
  return String(answer.json!['id']);
}
const titles = ({ events }: EventListener) => events.map(({ data }) => data['title']);

describe('the stream of an inbox', () => {
  it('sends each message to its addressee, as its inbox shows it, and to no other agent', async () => {
    const [bob, eve, admin] = await Promise.all([open(BOB), open(EVE), open(ADMIN)]);
    const id = await notify(ALICE, BOB, 'for bob');
    await notify(ALICE, EVE, 'for eve');
    const [event] = await bob.heard(1);
    assert.equal(event!.event, 'message');
    const { to, ...row } = event!.data;
    const inbox = await node.send('GET', '/api/v1/inbox', undefined, { 'x-agent-id': BOB });
    assert.deepEqual([to, row['id']], [BOB, id]);
    assert.deepEqual((inbox.json!['messages'] as object[])[0], row);
    await eve.heard(1);
    await notify(ALICE, BOB, 'later');
    await bob.heard(2);
    assert.deepEqual([titles(bob), titles(eve), titles(admin)], [['for bob', 'later'], ['for eve'], []]);
    for (const listener of [bob, eve, admin]) listener.close();
    await until('no listener is left', () => stream.listeners === 0);
  });

  it('sends what a listener missed, without what is gone, and every message once', async () => {
    const first = await open(BOB);
    await notify(ALICE, BOB, 'heard');
    const [event] = await first.heard(1);
    first.close();
    const gone = await notify(ALICE, BOB, 'gone');
    for (let n = 0; n < 20; n += 1) await notify(ALICE, n % 2 === 0 ? BOB : EVE, `missed ${n}`);
    await node.send('DELETE', `/api/v1/memories/${gone}`, undefined, { 'x-agent-id': BOB });
    const again = await open(BOB, event!.id);
    await again.heard(10);
    await notify(ALICE, BOB, 'live');
    await again.heard(11);
    const missed = Array.from({ length: 10 }, (_, n) => `missed ${2 * n}`);
    assert.deepEqual(titles(again), [...missed, 'live']);
    again.close();
  });

  it('cuts a long payload, which the inbox has whole', async () => {
    const listener = await open(BOB);
    const payload = '"\n'.repeat(32_000);
    await notify(ALICE, BOB, 'long', payload);
    const [event] = await listener.heard(1);
    const { payload: cut, payload_truncated: said } = event!.data;
    assert.equal(said, true);
    assert.ok(String(cut).length < 10_000);
    const inbox = await node.send('GET', '/api/v1/inbox?limit=1', undefined, { 'x-agent-id': BOB });
    assert.equal((inbox.json!['messages'] as { payload: string }[])[0]!.payload, payload);
    for (let n = 0; n < 40; n += 1) await notify(ALICE, BOB, `long ${n}`, payload);
    await listener.heard(41);
    assert.equal(listener.ended, 'no');
    listener.close();
  });

  it('is for callers with a name, from a place that it knows, and for so many', async () => {
    await until('no listener is left', () => stream.listeners === 0);
    assert.equal((await open(null)).status, 403);
    const odd = await node.send('GET', '/api/v1/inbox/stream', undefined, {
      ...{ 'x-agent-id': BOB, 'last-event-id': 'x' },
    });
    assert.deepEqual([odd.status, odd.json!['code']], [400, 'VALIDATION_FAILED']);
    const all = await Promise.all(Array.from({ length: LISTENERS_MAX }, () => open(BOB)));
    const refused = await node.send('GET', '/api/v1/inbox/stream', undefined, { 'x-agent-id': BOB });
    assert.deepEqual([refused.status, refused.json!['code']], [503, 'OVERLOADED']);
    await until('keepalives come', () => all.every(({ comments }) => comments >= 2));
    for (const listener of all) listener.close();
  });
});
