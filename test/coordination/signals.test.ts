import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { sweepSignals } from '../../actors/coordination/signals.js';
import { systemCrypto } from '../../node/seams.js';
import { instantAfter } from '../../protocol/base/time.js';
import { SIGNAL_TYPES } from '../../protocol/coordination/signal-kind.js';
import { signalEnvelopeBytes } from '../../protocol/coordination/signed.js';
import { openHttpNode } from '../surface/http/http-node.js';
import {
  agent,
  type CoordinationNode,
  type Fields,
  openCoordinationNode,
  type Session,
  sessionOf,
} from './coordination-node.js';

const [ALICE, BOB, EVE] = ['ai:alice', 'ai:bob', 'ai:eve'];

describe('signals', () => {
  let node: CoordinationNode;
  let alice: Session;
  let bob: Session;
  let eve: Session;
  before(async () => {
    node = await openCoordinationNode();
    [alice, bob, eve] = [node.as(ALICE), node.as(BOB), node.as(EVE)];
  });
  after(() => node.close());

  const send = async (from: Session, more: Fields = {}) => {
    // Signals of one millisecond stand in the order of their ids.
    await new Promise((resolve) => setTimeout(resolve, 2));
    const sent = await from.run('memory_signal_send', { namespace: 'team', subject: 'ready', ...more });
    return sent['signal'] as Fields;
  };
  const idsOf = (page: Fields) => (page['signals'] as Fields[]).map(({ id }) => id);

  it('have the members of the reference, and a signature that covers them', async () => {
    const body = { z: [1, 'two'], a: null };
    const more = {
      to_agent: BOB,
      body,
      signal_type: 'request',
      correlation_id: 'c-1',
      reference_ids: ['m1'],
    };
    const sent = await alice.run('memory_signal_send', { namespace: 'team', subject: 'review', ...more });
    assert.equal(sent['attest_level'], 'self_signed');
    const signal = sent['signal'] as Fields;
    assert.equal(signal['id'], sent['id']);
    const { created_at, expires_at, signature, sender_pubkey, id, ...rest } = signal;
    assert.deepEqual(rest, {
      ...{ namespace: 'team', from_agent: ALICE, subject: 'review', in_reply_to: null, ...more },
      ...{ delivered_at: null, read_at: null, acknowledged_at: null },
    });
    assert.equal(Number(expires_at) - Number(created_at), 90 * 86_400);
    const envelope = signalEnvelopeBytes(
      {
        ...{ signal_id: String(id), namespace: 'team', from_agent: ALICE, to_agent: BOB, subject: 'review' },
        ...{ body: '{"a":null,"z":[1,"two"]}', signal_type: 'request', in_reply_to: null },
        ...{ correlation_id: 'c-1', created_at: new Date(Number(created_at) * 1000).toISOString() },
      },
      systemCrypto,
    );
    const bytes = (text: unknown) => Buffer.from(String(text), 'base64');
    assert.ok(systemCrypto.verify(bytes(sender_pubkey), envelope, bytes(signature)));
    const read = await bob.run('memory_signal_read', { id });
    assert.equal(read['verified'], true);
    assert.deepEqual((read['signal'] as Fields)['body'], body);
  });

  it('are refused with what is wrong with them', async () => {
    const good = { namespace: 'team', subject: 'x' };
    const wrong: [Fields, string][] = [
      [{ subject: 'x' }, 'namespace is required'],
      [{ namespace: 'team' }, 'subject is required'],
      [{ ...good, subject: ' ' }, 'subject: must not be blank'],
      [{ ...good, subject: 'x'.repeat(513) }, 'subject: must be at most 512 characters'],
      [{ ...good, namespace: '_mesh' }, 'namespace: namespaces that begin with "_"'],
      [{ ...good, namespace: 'two words' }, 'namespace: '],
      [{ ...good, to_agent: '' }, 'to_agent: '],
      [{ ...good, signal_type: 'shout' }, 'signal_type: '],
      [{ ...good, body: 'x'.repeat(65_536) }, 'body: must be at most 65536 bytes'],
      [{ ...good, correlation_id: '' }, 'correlation_id: must not be blank'],
      [{ ...good, in_reply_to: 7 }, 'in_reply_to: '],
      [{ ...good, reference_ids: [''] }, 'reference_ids.0: must not be blank'],
      [{ ...good, reference_ids: Array.from({ length: 65 }, (_, at) => `m${at}`) }, 'reference_ids: '],
      [{ ...good, ttl_secs: 0 }, 'ttl_secs: '],
    ];
    for (const [input, message] of wrong) {
      const { code, message: said } = await alice.refused('memory_signal_send', input);
      assert.equal(code, 'VALIDATION_FAILED', said);
      assert.ok(said.startsWith(message), `${said} begins with ${message}`);
    }
    for (const signal_type of SIGNAL_TYPES) await send(alice, { signal_type });
  });

  it('come from the caller, and only the operator sends for another agent', async () => {
    const { code } = await eve.refused('memory_signal_send', {
      ...{ namespace: 'team', subject: 'x', from_agent: ALICE },
    });
    assert.equal(code, 'FORBIDDEN');
    assert.equal((await send(alice, { from_agent: ALICE }))['from_agent'], ALICE);
    assert.equal((await send(node.operator, { from_agent: BOB }))['from_agent'], BOB);
  });

  it('are read by their addressee, whose first look is the stamp', async () => {
    const { id } = await send(alice, { to_agent: BOB });
    const bySender = (await alice.run('memory_signal_read', { id }))['signal'] as Fields;
    assert.equal(bySender['read_at'], null);
    const first = (await bob.run('memory_signal_read', { id }))['signal'] as Fields;
    assert.equal(typeof first['read_at'], 'number');
    const again = (await bob.run('memory_signal_read', { id }))['signal'] as Fields;
    assert.equal(again['read_at'], first['read_at']);
    const seen = (await alice.run('memory_signal_read', { id }))['signal'] as Fields;
    assert.equal(seen['read_at'], first['read_at'], 'the sender sees it');
  });

  it('are not there for another agent', async () => {
    const { id } = await send(alice, { to_agent: BOB, correlation_id: 'secret' });
    assert.deepEqual(await eve.run('memory_signal_read', { id }), { signal: null });
    assert.deepEqual(await eve.run('memory_signal_ack', { id }), { acknowledged: false });
    assert.deepEqual(await eve.run('memory_signal_thread', { correlation_id: 'secret' }), { signals: [] });
    assert.ok(!idsOf(await eve.run('memory_signal_inbox', { namespace: 'team' })).includes(id));
    const other = await eve.refused('memory_signal_inbox', { namespace: 'team', to_agent: BOB });
    assert.equal(other.code, 'FORBIDDEN');
    const seen = (await bob.run('memory_signal_read', { id }))['signal'] as Fields;
    assert.equal(seen['acknowledged_at'], null);
    assert.deepEqual(await bob.run('memory_signal_read', { id: 'no-such-signal' }), { signal: null });
  });

  it('are acknowledged once, by their addressee alone', async () => {
    const { id } = await send(alice, { to_agent: BOB });
    assert.equal((await alice.refused('memory_signal_ack', { id })).code, 'FORBIDDEN');
    assert.deepEqual(await bob.run('memory_signal_ack', { id }), { acknowledged: true });
    assert.deepEqual(await bob.run('memory_signal_ack', { id }), { acknowledged: false });
    assert.deepEqual(await bob.run('memory_signal_ack', { id: 'no-such-signal' }), { acknowledged: false });
    const seen = (await alice.run('memory_signal_read', { id }))['signal'] as Fields;
    assert.equal(typeof seen['acknowledged_at'], 'number');
    assert.notEqual(seen['read_at'], null);
    const { id: broadcast } = await send(alice);
    const { code, message } = await bob.refused('memory_signal_ack', { id: broadcast });
    assert.equal(code, 'FORBIDDEN');
    assert.match(message, /a broadcast has no addressee/);
  });

  it('are not acknowledged by an agent that gives itself out as the addressee', async () => {
    const { id } = await send(alice, { to_agent: BOB });
    // A process of Alice whose call names another writer.
    const forged = sessionOf(node.services, { ...agent(ALICE), agentId: BOB });
    for (const tool of ['memory_signal_ack', 'memory_signal_read'])
      assert.equal((await forged.refused(tool, { id })).code, 'FORBIDDEN');
    const seen = (await alice.run('memory_signal_read', { id }))['signal'] as Fields;
    assert.deepEqual([seen['read_at'], seen['acknowledged_at']], [null, null]);
  });

  it('that are broadcasts have a stamp for each reader', async () => {
    const { id } = await send(alice, { namespace: 'board' });
    const readBy = async (who: Session) =>
      ((await who.run('memory_signal_read', { id }))['signal'] as Fields)['read_at'];
    const inbox = async (who: Session) =>
      ((await who.run('memory_signal_inbox', { namespace: 'board' }))['signals'] as Fields[])[0]!['read_at'];
    assert.equal(typeof (await readBy(bob)), 'number');
    assert.deepEqual([typeof (await inbox(bob)), await inbox(eve)], ['number', null]);
  });

  it('stand in the inbox of their addressee, the newest first, page by page', async () => {
    const namespace = 'pages';
    const sent: unknown[] = [];
    for (let at = 0; at < 7; at += 1) {
      const to = at % 3 === 2 ? {} : { to_agent: at % 3 === 0 ? BOB : EVE };
      sent.push((await send(alice, { namespace, subject: `n ${at}`, ...to }))['id']);
    }
    const forBob = [sent[6], sent[5], sent[3], sent[2], sent[0]];
    assert.deepEqual(idsOf(await bob.run('memory_signal_inbox', { namespace, to_agent: BOB })), forBob);
    assert.deepEqual(idsOf(await bob.run('memory_signal_inbox', { namespace })), forBob);
    const whole = [...sent].reverse();
    assert.deepEqual(idsOf(await alice.run('memory_signal_inbox', { namespace })), whole);
    assert.deepEqual(idsOf(await node.operator.run('memory_signal_inbox', { namespace })), whole);
    const pages: unknown[] = [];
    let next: unknown;
    do {
      const page = await alice.run('memory_signal_inbox', {
        ...{ namespace, limit: 2 },
        ...(next === undefined ? {} : { after: next }),
      });
      assert.ok((page['signals'] as Fields[]).length <= 2);
      pages.push(...idsOf(page));
      next = page['next'];
    } while (next !== undefined);
    assert.deepEqual(pages, whole);
    for (const bad of [{ limit: 0 }, { after: 'nonsense' }, { namespace: '' }])
      assert.equal(
        (await bob.refused('memory_signal_inbox', { namespace, ...bad })).code,
        'VALIDATION_FAILED',
      );
  });

  it('of a thread stand in it, the oldest first', async () => {
    const thread = { correlation_id: 'thread-1', namespace: 'threads' };
    const ask = await send(alice, { ...thread, to_agent: BOB, signal_type: 'request' });
    const answer = await send(bob, { ...thread, to_agent: ALICE, in_reply_to: ask['id'] });
    const hidden = await send(bob, { ...thread, to_agent: EVE });
    const seen = async (who: Session) =>
      idsOf(await who.run('memory_signal_thread', { correlation_id: 'thread-1' }));
    assert.deepEqual(await seen(alice), [ask['id'], answer['id']]);
    assert.deepEqual(await seen(bob), [ask['id'], answer['id'], hidden['id']]);
    assert.equal((await bob.refused('memory_signal_thread', {})).code, 'VALIDATION_FAILED');
    assert.equal((await bob.refused('memory_signal_read', {})).code, 'VALIDATION_FAILED');
    assert.equal((await bob.refused('memory_signal_ack', { id: '' })).code, 'VALIDATION_FAILED');
  });

  it('write into the audit chain who sent and who acknowledged', async () => {
    const { id } = await send(alice, { to_agent: BOB });
    await bob.run('memory_signal_ack', { id });
    const events = await node.services.store.query({ kind: 'audit-rows', after: 0, limit: 1000 });
    assert.ok(events.ok);
    const found = events.value.rows.filter(({ payload }) => String(payload).includes(String(id)));
    assert.deepEqual(
      found.map(({ event_type, agent_id }) => [event_type, agent_id]),
      [
        ['coordination.signal_send', ALICE],
        ['coordination.signal_ack', BOB],
      ],
    );
  });

  it('expire, and are removed with their receipts and their bytes', async () => {
    const { id } = await send(alice, { namespace: 'short', to_agent: BOB, ttl_secs: 1 });
    await bob.run('memory_signal_ack', { id });
    const { store, peerId } = node.services;
    const used = async () => {
      const quota = await store.execute({ kind: 'ensure-quota', holder: ALICE, namespace: 'short' });
      assert.ok(quota.ok);
      return quota.value.use.storageBytes;
    };
    assert.ok((await used()) > 0, 'its sender pays for it');
    const later = instantAfter(new Date().toISOString(), 5);
    assert.equal(await sweepSignals(store, peerId, new Date().toISOString()), false);
    assert.ok((await used()) > 0);
    await new Promise((resolve) => setTimeout(resolve, 1100));
    assert.deepEqual(await bob.run('memory_signal_read', { id }), { signal: null });
    assert.deepEqual(await bob.run('memory_signal_inbox', { namespace: 'short' }), { signals: [] });
    await sweepSignals(store, peerId, later);
    assert.equal(await used(), 0);
    for (const of of ['signal', 'signal_receipt']) {
      const left = await store.query({
        ...{ kind: 'find-records', of, where: { namespace: 'short' }, limit: 9, viewer: null, now: later },
      });
      assert.deepEqual(left.ok && left.value.rows, []);
    }
  });
});

describe('the quota of signals', () => {
  it('refuses a sender beyond its storage bytes, and takes them again when some are gone', async () => {
    const node = await openCoordinationNode({ maxStorageBytes: 4096 });
    const alice = node.as(ALICE);
    const body = 'x'.repeat(1500);
    const send = { namespace: 'team', subject: 'x', to_agent: BOB, body, ttl_secs: 1 };
    await alice.run('memory_signal_send', send);
    await alice.run('memory_signal_send', send);
    const { code, details } = await alice.refused('memory_signal_send', send);
    assert.equal(code, 'QUOTA_EXCEEDED');
    const { limit, max, agent_id } = details as unknown as Fields;
    assert.deepEqual([limit, max, agent_id], ['storage_bytes', 4096, ALICE]);
    await new Promise((resolve) => setTimeout(resolve, 1100));
    await sweepSignals(node.services.store, node.services.peerId, new Date().toISOString());
    await alice.run('memory_signal_send', send);
    await node.close();
  });

  it('is a 429 over HTTP that says which limit', async () => {
    const node = await openHttpNode({ maxStorageBytes: 1000 });
    const body = { namespace: 'team', subject: 'x', body: 'y'.repeat(2000) };
    const { status, json } = await node.send('POST', '/api/v1/signals', body, { 'x-agent-id': ALICE });
    const { error, code, limit, current, max, agent_id } = json!;
    assert.deepEqual(
      [status, code, limit, current, max, agent_id],
      [429, 'QUOTA_EXCEEDED', 'storage_bytes', 0, 1000, ALICE],
    );
    assert.match(String(error), /storage_bytes/);
    await node.close();
  });
});
