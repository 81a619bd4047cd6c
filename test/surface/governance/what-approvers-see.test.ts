import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { EventListener } from '../../support/event-listener.js';
import { ADMIN, APPROVER, GovernedDaemon, REQUESTER } from '../../support/governed-daemon.js';
import { until } from '../../support/wait.js';
import { SECRET, WebhookReceiver } from '../../support/webhook-receiver.js';
import { run } from '../cli/cli-process.js';

type Json = Record<string, unknown>;

const NAMED = 'ai:named';
const STRANGER = 'ai:stranger';
let node: GovernedDaemon;
let made = 0;
before(async () => {
  node = await GovernedDaemon.start({ SVC_ALLOW_LOOPBACK_WEBHOOKS: '1' });
  const governance = { write: 'approve', delete: 'approve', promote: 'approve', approver: { agent: NAMED } };
  await send(ADMIN, 201, 'POST', '/namespaces', { namespace: 'ruled', governance });
  const human = { write: 'approve', delete: 'approve' };
  await send(ADMIN, 201, 'POST', '/namespaces', { namespace: 'open', governance: human });
});
after(() => node.end());

async function send(agent: string, status: number, method: string, path: string, body?: Json): Promise<Json> {
  const reply = await node.call(agent, method, path, body);
  assert.equal(reply.status, status, `${agent} ${method} ${path}: ${JSON.stringify(reply.body)}`);
  return reply.body;
}

async function store(namespace: string, status: number, more: Json = {}, agent = REQUESTER): Promise<Json> {
  made += 1;
  const memory = { namespace, title: `note ${made}`, content: `secret ${made}`, ...more };
  return await send(agent, status, 'POST', '/memories', memory);
}

/** The row of the list about an action, as an agent sees it. */
async function listed(agent: string, id: unknown): Promise<Json | null> {
  const { pending } = await send(agent, 200, 'GET', '/pending');
  return (pending as Json[]).find((row) => row['id'] === id) ?? null;
}

/** A memory that was approved. */
async function approved(more: Json = {}): Promise<string> {
  const { pending_id } = await store('ruled', 202, more);
  const { memory_id } = await send(NAMED, 200, 'POST', `/pending/${pending_id}/approve`);
  return String(memory_id);
}

const payloadOf = async (agent: string, id: unknown) => (await listed(agent, id))?.['payload'];

describe('what an approver sees of an action', () => {
  it('is the proposed memory as the interface writes it, and the approver as a policy writes it', async () => {
    const { pending_id: id } = await store('ruled', 202, { title: 'a proposal', tags: ['x'], priority: 7 });
    const row = (await listed(NAMED, id)) ?? {};
    assert.deepEqual(row['approver'], { agent: NAMED });
    const { id: memory, metadata, source, ...payload } = row['payload'] as Json;
    assert.equal(memory, row['memory_id']);
    assert.equal((metadata as Json)['agent_id'], REQUESTER);
    assert.equal(typeof source, 'string');
    assert.deepEqual(payload, {
      ...{
        title: 'a proposal',
        content: `secret ${made}`,
        namespace: 'ruled',
        tier: 'mid',
        kind: 'observation',
      },
      ...{ tags: ['x'], priority: 7, confidence: payload['confidence'], expires_at: payload['expires_at'] },
    });
    const { pending_id: human } = await store('open', 202);
    assert.equal((await listed(REQUESTER, human))?.['approver'], 'human');
    const members = Object.keys(row);
    for (const inner of ['command', 'rest', 'viewer', 'envelope', 'home_number'])
      assert.equal(members.includes(inner), false, inner);
  });

  it('is what an update, a promotion, a deletion and a link ask for, in the words of their requests', async () => {
    const id = await approved();
    const update = await send(REQUESTER, 202, 'PUT', `/memories/${id}`, { title: 'better', tags: ['y'] });
    assert.deepEqual(await payloadOf(NAMED, update['pending_id']), { id, title: 'better', tags: ['y'] });
    const removal = await send(REQUESTER, 202, 'DELETE', `/memories/${id}`);
    assert.deepEqual(await payloadOf(NAMED, removal['pending_id']), { id });
    const promotion = await send(REQUESTER, 202, 'POST', `/memories/${id}/promote`);
    assert.deepEqual(await payloadOf(NAMED, promotion['pending_id']), {
      ...{ id, target_tier: 'long' },
      becomes: [{ id, namespace: 'ruled', title: `note ${made}`, content: `secret ${made}`, tier: 'long' }],
    });
    const shown = await run(node.daemon.home, ['pending', 'list', '--json']);
    assert.equal(shown.out.includes('targetTier'), false);
    assert.equal(shown.out.includes('expectedVersion'), false);
  });

  it('is nothing of a memory that it may not read, in the list, on the stream and by webhook', async () => {
    const receiver = await WebhookReceiver.open();
    try {
      await send(NAMED, 201, 'POST', '/subscriptions', {
        url: receiver.url,
        secret: SECRET,
        namespace_filter: 'ruled',
      });
      const stream = await EventListener.open(node.base, NAMED);
      const hidden = await store('ruled', 202, { scope: 'private', title: 'a private title' });
      const id = hidden['pending_id'];
      const row = await listed(NAMED, id);
      assert.deepEqual(
        [row?.['payload'], row?.['memory_id'], row?.['namespace'], row?.['requested_by']],
        [null, null, 'ruled', REQUESTER],
      );
      assert.equal(((await payloadOf(REQUESTER, id)) as Json)['title'], 'a private title');
      assert.equal(((await payloadOf(ADMIN, id)) as Json)['title'], 'a private title');
      const [event] = await stream.heard(1);
      await until('the receiver hears of it', () => receiver.got.length >= 1);
      for (const text of [JSON.stringify(row), JSON.stringify(event), receiver.got[0]!.text]) {
        assert.equal(/private title|secret \d/.test(text), false, text);
      }
      assert.equal('target_memory_id' in receiver.got[0]!.body, false);
      stream.close();
      await send(NAMED, 200, 'POST', `/pending/${id}/approve`);
      const memory = String((await listed(REQUESTER, id))?.['memory_id']);
      const edit = await send(REQUESTER, 202, 'PUT', `/memories/${memory}`, { content: 'another secret 1' });
      assert.equal(await payloadOf(NAMED, edit['pending_id']), null);
      const away = await send(REQUESTER, 202, 'DELETE', `/memories/${memory}`);
      assert.equal(await payloadOf(NAMED, away['pending_id']), null);
      const withdrawn = await send(REQUESTER, 202, 'PUT', `/memories/${await approved()}`, {
        ...{ content: 'another secret 2', scope: 'private' },
      });
      assert.equal(await payloadOf(NAMED, withdrawn['pending_id']), null);
    } finally {
      await receiver.close();
    }
  });
});

describe('who hears of an action', () => {
  it('are the admin and all that may decide it, in the list, on the stream and by webhook', async () => {
    const hearing = [REQUESTER, ADMIN, APPROVER];
    const receivers = new Map<string, WebhookReceiver>();
    try {
      for (const agent of [...hearing, STRANGER]) {
        const receiver = await WebhookReceiver.open();
        receivers.set(agent, receiver);
        const events = 'approval_requested';
        await send(agent, 201, 'POST', '/subscriptions', { url: receiver.url, secret: SECRET, events });
      }
      const streams = await Promise.all(
        [...hearing, STRANGER].map((agent) => EventListener.open(node.base, agent)),
      );
      const { pending_id: id } = await store('open', 202);
      for (const agent of hearing) {
        assert.notEqual(await listed(agent, id), null, agent);
        await until(`${agent} hears`, () => receivers.get(agent)!.got.length === 1);
        assert.equal(receivers.get(agent)!.got[0]!.body['memory_id'], id);
      }
      for (const stream of streams.slice(0, -1)) {
        const [event] = await stream.heard(1);
        assert.equal(event!.data['pending_id'], id);
      }
      assert.equal(await listed(STRANGER, id), null);
      assert.equal(receivers.get(STRANGER)!.got.length, 0);
      assert.equal(streams.at(-1)!.events.length, 0);
      for (const stream of streams) stream.close();
    } finally {
      for (const receiver of receivers.values()) await receiver.close();
    }
  });

  it('are those that count it among what waits', async () => {
    const countOf = async (agent: string) => {
      const report = await send(agent, 200, 'GET', '/capabilities');
      return (report['pending_requests'] ?? (report['approval'] as Json)?.['pending_requests']) as number;
    };
    const before_ = await Promise.all([REQUESTER, ADMIN, STRANGER].map(countOf));
    await store('open', 202);
    const after_ = await Promise.all([REQUESTER, ADMIN, STRANGER].map(countOf));
    assert.deepEqual(after_, [before_[0]! + 1, before_[1]! + 1, 0]);
  });
});
