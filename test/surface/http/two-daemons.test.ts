import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { EventListener } from '../../support/event-listener.js';
import { PostgresServer, withoutServer } from '../../support/postgres-server.js';
import { ServerDaemons } from '../../support/server-daemons.js';
import { agentKey } from '../../support/signing.js';
import { until } from '../../support/wait.js';
import { SECRET, WebhookReceiver } from '../../support/webhook-receiver.js';

type Row = Record<string, unknown>;

const ADMIN = 'human:admin';
const OWNER = 'ai:owner';
const CODER = 'ai:coder';
const LEAD = 'ai:lead';
/** Its requests of a day are its own. */
const WRITER = 'ai:writer';
const QUOTA = 10;
/** Calls that race, half of them on each daemon. */
const RACERS = 24;

describe('two daemons on one database', { skip: withoutServer, timeout: 240_000 }, () => {
  let server: PostgresServer;
  let daemons: ServerDaemons;
  let bases: readonly [string, string];
  before(async () => {
    server = await PostgresServer.start();
    daemons = new ServerDaemons(server, await server.database(), {
      ...{ SVC_ADMIN_AGENT_IDS: ADMIN, SVC_ADMIN_HEADER_TRUST: '1', SVC_ALLOW_LOOPBACK_WEBHOOKS: '1' },
      SVC_MAX_MEMORIES_PER_DAY: String(QUOTA),
    });
    const [a, b] = await Promise.all([daemons.start('a'), daemons.start('b')]);
    bases = [a.base, b.base];
    for (const agent of [CODER, LEAD, WRITER]) await register(agent);
  });
  after(async () => {
    await daemons.stop();
    await server.stop();
  });

  const send = async (
    on: 0 | 1,
    agent: string,
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ) => {
    const response = await fetch(`${bases[on]}${path}`, {
      method,
      headers: { 'content-type': 'application/json', 'x-agent-id': agent, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const json = (text === '' ? {} : JSON.parse(text)) as Row;
    return { status: response.status, json, tag: response.headers.get('etag') };
  };
  const done = async (...call: Parameters<typeof send>) => {
    const said = await send(...call);
    assert.ok(said.status < 300, `${call[2]} ${call[3]}: ${said.status} ${JSON.stringify(said.json)}`);
    return said.json;
  };
  const store = (on: 0 | 1, agent: string, namespace: string, title: string, more: Row = {}) =>
    send(on, agent, 'POST', '/memories', { namespace, title, content: `words of ${title}`, ...more });
  const register = (agent: string) =>
    done(0, agent, 'POST', '/agents', { agent_id: agent, agent_type: 'ai:test' });
  const standard = (on: 0 | 1, namespace: string, governance: Row) =>
    done(on, ADMIN, 'POST', `/namespaces/${namespace}/standard`, { governance });
  const race = <T>(call: (on: 0 | 1, n: number) => Promise<T>) =>
    Promise.all(Array.from({ length: RACERS }, (_, n) => call(n % 2 === 0 ? 0 : 1, n)));
  const counted = (values: readonly unknown[]) =>
    Object.fromEntries(
      [...new Set(values)].map((value) => [String(value), values.filter((each) => each === value).length]),
    );

  it('let an action that one of them put aside be decided at the other, and streams of both tell each event once', async () => {
    await standard(0, 'ask', { write: 'approve', approver: 'human' });
    const [first, second] = await Promise.all([
      EventListener.open(bases[0], CODER),
      EventListener.open(bases[1], CODER),
    ]);
    const ids: unknown[] = [];
    for (let n = 0; n < 6; n += 1) {
      const on = n % 2 === 0 ? 0 : 1;
      const waiting = await store(on, CODER, 'ask', `asked ${n}`);
      assert.equal(waiting.status, 202, JSON.stringify(waiting.json));
      const id = String(waiting.json['pending_id']);
      ids.push(id);
      const other = on === 0 ? 1 : 0;
      await done(other, LEAD, 'POST', `/pending/${id}/approve`);
      const twice = await send(on, LEAD, 'POST', `/pending/${id}/reject`);
      assert.equal(twice.status, 409, JSON.stringify(twice.json));
      const { json } = await send(on, CODER, 'GET', '/memories?namespace=ask');
      assert.equal((json['memories'] as Row[]).length, n + 1, 'the store is done where it was asked');
      if (n !== 2) continue;
      await second.heard(6);
      second.close();
    }
    await first.heard(12);
    const told = ids.flatMap((id) => [`approval_requested ${id}`, `approval_decided ${id}`]);
    const heard = ({ events }: EventListener) =>
      events.map(({ event, data }) => `${event} ${data['pending_id']}`);
    assert.deepEqual(heard(first), told);
    assert.deepEqual(heard(second), told.slice(0, 6));
    const again = await EventListener.open(bases[0], CODER, { lastEventId: second.place! });
    await again.heard(6);
    const back = await EventListener.open(bases[1], CODER, { lastEventId: first.events[3]!.id });
    await back.heard(8);
    assert.deepEqual([heard(again), heard(back)], [told.slice(6), told.slice(4)]);
    for (const each of [first, again, back]) each.close();
  });

  it('tell an inbox on either of them each message once, and a client that moves to the other one goes on', async () => {
    const open = (on: 0 | 1, lastEventId?: number) =>
      EventListener.open(bases[on], LEAD, {
        path: '/inbox/stream',
        ...(lastEventId === undefined ? {} : { lastEventId }),
      });
    const notify = (on: 0 | 1, title: string) =>
      done(on, CODER, 'POST', '/notify', { target_agent_id: LEAD, title, payload: 'text' });
    const titles = ({ events }: EventListener) => events.map(({ data }) => data['title']);
    const listener = await open(1);
    for (const n of [0, 1, 0, 1] as const) await notify(n, `to b ${listener.events.length}`);
    await listener.heard(4);
    const place = listener.events[3]!.id;
    listener.close();
    await notify(1, 'missed');
    const moved = await open(0, place);
    await moved.heard(1);
    await notify(1, 'live');
    await moved.heard(2);
    assert.deepEqual(titles(moved), ['missed', 'live']);
    moved.close();
  });

  it('follow a policy and a key from the answer on with which the other one took it', async () => {
    for (let n = 0; n < 5; n += 1) {
      const namespace = `policy/${n}`;
      const [set, seen] = n % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const);
      assert.equal((await store(seen, WRITER, namespace, 'before')).status, 201);
      await standard(set, namespace.replace('/', '%2F'), { write: 'approve', approver: 'human' });
      assert.equal((await store(seen, WRITER, namespace, 'gated')).status, 202);
      await done(set, ADMIN, 'DELETE', `/namespaces/policy%2F${n}/standard`);
      assert.equal((await store(seen, WRITER, namespace, 'after')).status, 201);
    }
    const agent = 'ai:keyed';
    await register(agent);
    const key = { pubkey_b64: agentKey(agent).publicKeyText };
    await done(0, ADMIN, 'PUT', `/agents/${encodeURIComponent(agent)}/pubkey`, key);
    const { agents } = (await done(1, ADMIN, 'GET', '/agents?limit=100')) as {
      readonly agents: readonly Row[];
    };
    const seen = agents.find((row) => row['agent_id'] === agent);
    assert.equal(seen?.['pubkey_b64'], `${key.pubkey_b64}=`);
  });

  it('send a webhook once, whoever took the subscription and the write', async () => {
    const receiver = await WebhookReceiver.open();
    try {
      const wanted = { url: receiver.url, secret: SECRET, namespace_filter: 'hooked' };
      const { id } = await done(0, OWNER, 'POST', '/subscriptions', wanted);
      const stored: unknown[] = [];
      for (let n = 0; n < 8; n += 1) {
        const { status, json } = await store(n % 2 === 0 ? 1 : 0, OWNER, 'hooked', `told ${n}`);
        assert.equal(status, 201, JSON.stringify(json));
        stored.push(json['id']);
      }
      await until('all events arrive', () => receiver.got.length >= stored.length);
      await done(1, OWNER, 'DELETE', `/subscriptions?id=${String(id)}`);
      assert.equal((await store(0, OWNER, 'hooked', 'not told')).status, 201);
      const fence = await WebhookReceiver.open();
      try {
        await done(1, OWNER, 'POST', '/subscriptions', { ...wanted, url: fence.url });
        assert.equal((await store(0, OWNER, 'hooked', 'told to another')).status, 201);
        await until('the other one hears', () => fence.got.length > 0);
      } finally {
        await fence.close();
      }
      assert.deepEqual(
        receiver.got.map(({ body }) => body['memory_id']),
        stored,
      );
    } finally {
      await receiver.close();
    }
  });

  it('give a title, a version and a quota to one of many callers', async () => {
    const titles = await race((on, n) =>
      store(on, `ai:t${n}`, 'slots', 'one title', { on_conflict: 'error' }),
    );
    assert.deepEqual(counted(titles.map(({ status }) => status)), { 201: 1, 409: RACERS - 1 });
    const { json } = await store(0, OWNER, 'versions', 'a counter');
    const path = `/memories/${json['id']}`;
    const { tag } = await send(1, OWNER, 'GET', path);
    const changes = await race((on, n) =>
      send(on, OWNER, 'PUT', path, { content: `by ${n}` }, { 'if-match': tag! }),
    );
    const versions = counted(changes.map(({ status }) => status));
    assert.deepEqual(versions, { 200: 1, 409: RACERS - 1 });
    const spent = await race((on, n) => store(on, 'ai:spender', 'quota', `spent ${n}`));
    assert.deepEqual(counted(spent.map(({ status }) => status)), { 201: QUOTA, 429: RACERS - QUOTA });
  });
});
