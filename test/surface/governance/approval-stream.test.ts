import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startDaemonProcess } from '../../support/daemon-process.js';
import { EventListener } from '../../support/event-listener.js';
import { ADMIN, APPROVER, GovernedDaemon, REQUESTER } from '../../support/governed-daemon.js';
import { until } from '../../support/wait.js';

let node: GovernedDaemon;
before(async () => {
  node = await GovernedDaemon.start({}, startDaemonProcess);
});
after(() => node.end());

const open = (agent: string | null, options = {}) => EventListener.open(node.base, agent, options);

describe('the stream of approvals', () => {
  it('sends both events of an action with their fields, and ids that grow', async () => {
    const listener = await open(REQUESTER, { headers: { 'accept-encoding': 'gzip' } });
    assert.equal(listener.status, 200);
    const { headers } = listener.response;
    assert.equal(headers['content-type'], 'text/event-stream');
    assert.equal(headers['content-encoding'], undefined);
    assert.equal(headers['cache-control'], 'no-store');
    const id = await node.request('fields');
    await node.decide(id, 'approve');
    const [requested, decided] = await listener.heard(2);
    const { requested_at: at, ...rest } = requested!.data;
    assert.match(String(at), /^\d{4}-/);
    const common = { pending_id: id, namespace: 'ask', requested_by: REQUESTER };
    assert.equal(requested!.event, 'approval_requested');
    assert.deepEqual(rest, { event: 'approval_requested', action_type: 'store', ...common });
    assert.equal(decided!.event, 'approval_decided');
    assert.deepEqual(decided!.data, {
      event: 'approval_decided',
      decision: 'approve',
      decided_by: APPROVER,
      remember: 'once',
      ...common,
    });
    assert.ok(requested!.id > 0 && decided!.id > requested!.id);
    listener.close();
  });

  it('takes no listener from the query, as no route does', async () => {
    for (const stream of ['approvals/stream', 'inbox/stream']) {
      const response = await fetch(`${node.base}/${stream}?agent_id=${ADMIN}`);
      const { code } = (await response.json()) as { code: string };
      assert.deepEqual([response.status, code], [403, 'agent_id_query_header_mismatch'], stream);
    }
  });

  it('is under both paths, and names a rejection a denial', async () => {
    const bare = node.base.replace('/api/v1', '');
    const listener = await EventListener.open(bare, REQUESTER);
    await node.decide(await node.request('denied'), 'reject');
    const [, decided] = await listener.heard(2);
    assert.equal(decided!.data['decision'], 'deny');
    listener.close();
  });

  it('shows an action to its requester, to the approver that is named and to an admin, and to nobody else', async () => {
    const governance = { write: 'approve', approver: { agent: 'ai:named' } };
    const named = await node.call('ai:owner', 'POST', '/namespaces/named/standard', { governance });
    assert.equal(named.status, 201);
    const sees = [REQUESTER, 'ai:named', ADMIN];
    const blind = ['ai:stranger', null, 'host:laptop:pid-12-0123abcd', 'anonymous:req-0123abcd', APPROVER];
    const listeners = await Promise.all([...sees, ...blind].map((agent) => open(agent)));
    await node.request('for one', REQUESTER, 'named');
    // What comes later to all that may see it comes after what they may not see.
    for (const listener of listeners.slice(0, sees.length)) await listener.heard(1);
    await until('a keepalive or a round has passed', () => listeners[0]!.events.length > 0);
    const own = await node.request('own', 'ai:stranger');
    const [stranger] = listeners.slice(sees.length);
    const [first] = await stranger!.heard(1);
    assert.equal(first!.data['pending_id'], own);
    for (const listener of listeners.slice(sees.length + 1, -1)) assert.deepEqual(listener.events, []);
    // A registered agent hears of what any of them may decide, and only of that.
    const [open_] = await listeners.at(-1)!.heard(1);
    assert.equal(open_!.data['pending_id'], own);
    for (const listener of listeners) listener.close();
  });

  it('replays from the last event id, each event once and in order', async () => {
    const listener = await open(REQUESTER);
    const first = await node.request('before');
    await listener.heard(1);
    listener.close();
    const missed = [];
    for (let count = 0; count < 40; count += 1) missed.push(await node.request(`missed ${count}`));
    const again = await open(REQUESTER, { lastEventId: listener.place! });
    const later = await node.request('later');
    const events = await again.heard(41);
    assert.deepEqual(
      events.map(({ data }) => data['pending_id']),
      [...missed, later],
    );
    assert.notEqual(first, missed[0]);
    again.close();
  });

  it('gives a place with the first bytes, so that a client that heard nothing yet misses nothing', async () => {
    const listener = await open(REQUESTER);
    await until('a place is known', () => listener.place !== null);
    listener.close();
    const id = await node.request('while away');
    const again = await open(REQUESTER, { lastEventId: listener.place! });
    const [event] = await again.heard(1);
    assert.equal(event!.data['pending_id'], id);
    again.close();
  });

  it('says that events are missing to a client whose place it does not know', async () => {
    const listener = await open(REQUESTER, { lastEventId: 900_000_000 });
    const [lagged] = await listener.heard(1);
    assert.equal(lagged!.event, 'lagged');
    assert.deepEqual(lagged!.data, { lagged: true });
    const id = await node.request('after lagged');
    const [, next] = await listener.heard(2);
    assert.equal(next!.data['pending_id'], id);
    listener.close();
  });

  it('refuses an id that is none, a body and a wrong method', async () => {
    for (const lastEventId of ['abc', '-1', '1.5', '99999999999999999999']) {
      const refused = await open(REQUESTER, { lastEventId });
      assert.equal(refused.status, 400, lastEventId);
    }
    const posted = await node.call(REQUESTER, 'DELETE', '/approvals/stream');
    assert.equal(posted.status, 405);
    const head = await fetch(`${node.base}/approvals/stream`, { method: 'HEAD' });
    assert.deepEqual([head.status, await head.text()], [200, '']);
    assert.equal(head.headers.get('content-type'), 'text/event-stream');
  });

  it('is described, and so are the headers of a signed decision', async () => {
    const { paths } = (await (await fetch(`${node.base}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { parameters: Record<string, unknown>[]; responses: object }>>;
    };
    const stream = paths['/api/v1/approvals/stream']!['get']!;
    assert.match(JSON.stringify(stream.responses), /text\/event-stream/);
    assert.equal(stream.parameters[0]!['name'], 'Last-Event-ID');
    const needs = (path: string) =>
      paths[path]!['post']!.parameters.find((each) => each['name'] === 'X-SVC-Signature')?.['required'];
    assert.equal(needs('/api/v1/approvals/{pending_id}'), true);
    assert.equal(needs('/api/v1/pending/{id}/approve'), false);
  });

  it('misses nothing over a crash of the node', async () => {
    const listener = await open(REQUESTER);
    await node.request('before the crash');
    await listener.heard(1);
    const unheard = await node.request('at the crash');
    await node.restart('SIGKILL');
    await until('the stream is broken', () => listener.ended !== 'no');
    const again = await open(REQUESTER, { lastEventId: listener.events[0]!.id });
    const [event] = await again.heard(1);
    assert.equal(event!.data['pending_id'], unheard);
    again.close();
  });

  it('ends in good order when the node shuts down, at once', async () => {
    const listener = await open(REQUESTER);
    const beganMs = performance.now();
    await node.restart('SIGTERM');
    assert.equal(listener.ended, 'clean');
    assert.ok(performance.now() - beganMs < 10_000);
    listener.close();
  });
});

describe('the gates of the stream', () => {
  let closed: GovernedDaemon;
  before(async () => {
    closed = await GovernedDaemon.start({ SVC_MAX_INFLIGHT_REQUESTS: '2' });
  });
  after(() => closed.end());

  it('listeners take no place under the admission cap', async () => {
    const listeners = await Promise.all(
      Array.from({ length: 20 }, () => EventListener.open(closed.base, REQUESTER)),
    );
    assert.ok(listeners.every(({ status }) => status === 200));
    const id = await closed.request('not shed');
    for (const listener of listeners) {
      const [event] = await listener.heard(1);
      assert.equal(event!.data['pending_id'], id);
    }
    const metrics = await (await fetch(`${closed.base}/metrics`)).text();
    assert.match(metrics, /^svc_streams_open 20$/m);
    for (const listener of listeners) listener.close();
  });
});
