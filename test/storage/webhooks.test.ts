import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Services } from '../../node/pipeline/call.js';
import {
  PAGE_BYTES_MAX,
  SUBSCRIPTION_HISTORY_MAX,
  WEBHOOK_FAILURES_IN_ROW_MAX,
  WEBHOOK_REPLAYS_MAX,
  WEBHOOK_RETRY_MS,
} from '../../protocol/base/limits.js';
import type { Result } from '../../protocol/base/result.js';
import type { Viewer } from '../../protocol/base/viewer.js';
import type { DecisionContext } from '../../protocol/decide/deciding.js';
import { whoSees } from '../../protocol/webhooks/audience.js';
import { announcedKind, deadLetterKind, outboxEvent, outboxKind } from '../../protocol/webhooks/outbox.js';
import { subscriptionKind } from '../../protocol/webhooks/subscription.js';
import { FindRows } from '../../storage/sql/kinds/find-rows.js';
import { LocalTables } from '../../storage/sql/kinds/local-tables.js';
import { deadLetters, subscriptionEvents } from '../../storage/sql/queries/webhooks.js';
import { Statements } from '../../storage/sql/statements.js';
import { openDatabase } from '../../storage/sqlite/open-database.js';
import { aMemory } from '../support/memories.js';
import { openTestNode } from '../support/test-node.js';
import { openOptions } from './older-databases.js';

const OWNER: Viewer = { all: false, agentId: 'ai:owner', asNamespace: null };
const SINCE = '2020-01-01T00:00:00.000Z';
const ATTEMPTS = WEBHOOK_RETRY_MS.length + 1;
/** Long after every wait. */
const LATER_MS = 4_000_000_000_000;

const unwrap = <T>(result: Result<T>): T => {
  assert.ok(result.ok, JSON.stringify(result));
  return result.value;
};

describe('the outbox of webhooks', () => {
  let services: Services;
  let close: () => Promise<void>;
  let stored = 0;
  before(async () => {
    ({ services, close } = await openTestNode());
  });
  after(() => close());

  const subscribe = async (id: string) => {
    const subscription = {
      ...{ id, url: 'https://example.org/', events: '*', secret_hash: 'ab'.repeat(32) },
      ...{ namespace_filter: id, agent_filter: null, created_by: 'ai:owner' },
    };
    unwrap(await services.store.execute({ kind: 'subscribe', subscription, viewer: OWNER }));
  };
  const store = async (namespace: string) => {
    stored += 1;
    const memory = aMemory({ id: `memory-${stored}`, title: `title ${stored}`, namespace });
    const command = { kind: 'store-memory', memory, envelope: null, onConflict: 'error' } as const;
    const said = await services.store.execute({ ...command, viewer: OWNER, archive: true });
    assert.ok(said.ok, JSON.stringify(said));
  };
  const due = async (subscriptionId: string, nowMs: number, limit = 1) =>
    unwrap(await services.store.query({ kind: 'next-deliveries', subscriptionId, nowMs, limit })).deliveries;
  const next = async (subscriptionId: string) => (await due(subscriptionId, LATER_MS))[0] ?? null;
  const record = async (subscriptionId: string, error: string | null) => {
    const delivery = await next(subscriptionId);
    assert.ok(delivery !== null, 'an event is due');
    const { seq } = delivery;
    const ended =
      error === null ? { acknowledged: [seq], failed: null } : { acknowledged: [], failed: { seq, error } };
    const command = { kind: 'record-deliveries', subscriptionId, ...ended } as const;
    const { became, quarantined } = unwrap(await services.store.execute(command));
    assert.equal(became.length, 1);
    return { became: became[0], quarantined };
  };
  const giveUp = async (id: string) => {
    for (let n = 1; n < ATTEMPTS; n += 1) assert.equal((await record(id, 'network')).became, 'retry');
    return record(id, 'network');
  };
  const subscription = async (id: string) => {
    const { subscriptions } = unwrap(
      await services.store.query({ kind: 'list-subscriptions', viewer: OWNER }),
    );
    return subscriptions.find((row) => row.id === id)!;
  };
  const resend = async (subscriptionId: string) =>
    unwrap(
      await services.store.execute({
        ...{ kind: 'resend-events', subscriptionId, since: SINCE, limit: 1000, viewer: OWNER },
      }),
    ).resent;

  it('quarantines a subscription whose events fail in a row, and ends that with a resend', async () => {
    await subscribe('poison');
    for (let n = 0; n < WEBHOOK_FAILURES_IN_ROW_MAX; n += 1) await store('poison');
    for (let n = 1; n < WEBHOOK_FAILURES_IN_ROW_MAX; n += 1) {
      const { became, quarantined } = await giveUp('poison');
      assert.deepEqual([became, quarantined], ['dead', false]);
    }
    await store('poison');
    assert.deepEqual(await giveUp('poison'), { became: 'dead', quarantined: true });
    assert.equal(await next('poison'), null, 'it gets nothing');
    await store('poison');
    const held = await subscription('poison');
    assert.deepEqual(
      [held.status, held.pending_count, held.dlq_count, held.failure_count, held.dispatch_count],
      ['quarantined', 2, WEBHOOK_FAILURES_IN_ROW_MAX, WEBHOOK_FAILURES_IN_ROW_MAX, 20],
    );
    const { entries } = unwrap(
      await services.store.query({
        ...{ kind: 'dead-letters', subscriptionId: 'poison', limit: 1, viewer: OWNER },
      }),
    );
    assert.deepEqual([entries[0]!.last_error, entries[0]!.retry_count], ['network', 4]);

    assert.equal(await resend('poison'), WEBHOOK_FAILURES_IN_ROW_MAX);
    const seqs: number[] = [];
    for (let n = 0; n < WEBHOOK_FAILURES_IN_ROW_MAX + 2; n += 1) {
      seqs.push((await next('poison'))!.seq);
      assert.equal((await record('poison', null)).became, 'ack');
    }
    assert.deepEqual(
      seqs,
      [...seqs].sort((a, b) => a - b),
      'in the order of the writes',
    );
    const ended = await subscription('poison');
    assert.deepEqual([ended.status, ended.pending_count, ended.dlq_count], ['active', 0, 0]);
  });

  it('keeps a subscription that sees everything from callers who give the name of its maker', async () => {
    const operator: Viewer = { all: true, agentId: null, asNamespace: null };
    const subscription = {
      ...{ id: 'operator', url: 'https://example.org/', events: '*', secret_hash: null },
      ...{ namespace_filter: 'operator', agent_filter: null, created_by: 'ai:made@host' },
    };
    unwrap(await services.store.execute({ kind: 'subscribe', subscription, viewer: operator }));
    await store('operator');
    const seen = async (viewer: Viewer) => {
      const asked = { subscriptionId: 'operator', since: SINCE, limit: 10, viewer };
      const { subscriptions } = unwrap(await services.store.query({ kind: 'list-subscriptions', viewer }));
      const { events } = unwrap(await services.store.query({ kind: 'subscription-events', ...asked }));
      return [subscriptions.some(({ id }) => id === 'operator'), events.length];
    };
    const namesake: Viewer = { all: false, agentId: 'ai:made@host', asNamespace: null };
    assert.deepEqual(await seen(namesake), [false, 0]);
    const removed = { kind: 'unsubscribe', id: 'operator' } as const;
    assert.equal(unwrap(await services.store.execute({ ...removed, viewer: namesake })).removed, false);
    assert.deepEqual(await seen(operator), [true, 1]);
    assert.equal(unwrap(await services.store.execute({ ...removed, viewer: operator })).removed, true);
  });

  it('says whether there is a subscription at all, due or not', async () => {
    const fresh = await openTestNode();
    try {
      const isAny = async () => {
        const asked = { nowMs: LATER_MS, limit: 1, ofOwner: 1, except: [], waiting: null };
        const due = unwrap(await fresh.services.store.query({ kind: 'due-subscriptions', ...asked }));
        assert.deepEqual(due.ids, []);
        return due.any;
      };
      assert.equal(await isAny(), false);
      const subscription = {
        ...{ id: 'idle', url: 'https://example.org/', events: '*', secret_hash: null },
        ...{ namespace_filter: null, agent_filter: null, created_by: 'ai:owner' },
      };
      unwrap(await fresh.services.store.execute({ kind: 'subscribe', subscription, viewer: OWNER }));
      assert.equal(await isAny(), true);
    } finally {
      await fresh.close();
    }
  });

  it('shares the places of deliveries among owners, whatever waits for one of them', async () => {
    const subscriptionOf = async (id: string, owner: string) => {
      const viewer: Viewer = { all: false, agentId: owner, asNamespace: null };
      const subscription = {
        ...{ id, url: 'https://example.org/', events: '*', secret_hash: null },
        ...{ namespace_filter: 'shared', agent_filter: null, created_by: owner },
      };
      unwrap(await services.store.execute({ kind: 'subscribe', subscription, viewer }));
    };
    for (const n of [1, 2, 3, 4]) await subscriptionOf(`busy-${n}`, 'ai:busy');
    await subscriptionOf('quiet-1', 'ai:quiet');
    await store('shared');
    const due = async (limit: number, except: readonly string[]) => {
      const asked = { nowMs: LATER_MS, limit, ofOwner: 2, except, waiting: null };
      return unwrap(await services.store.query({ kind: 'due-subscriptions', ...asked })).ids.filter(
        (id) => id.startsWith('busy') || id.startsWith('quiet'),
      );
    };
    const begun = await due(100, []);
    assert.equal(begun.filter((id) => id.startsWith('busy')).length, 2);
    assert.ok(begun.includes('quiet-1'));
    const served = begun.filter((id) => id.startsWith('busy'));
    assert.deepEqual(await due(100, served), ['quiet-1'], 'those that are served count');
  });

  it('announces every removal, whatever its reason, and a clone without its source as a store', async () => {
    const heard = async (id: string) => {
      const asked = { subscriptionId: id, since: SINCE, limit: 100, viewer: OWNER };
      const { events } = unwrap(await services.store.query({ kind: 'subscription-events', ...asked }));
      return events.map(({ event_type }) => event_type);
    };
    await subscribe('removals');
    await store('removals');
    const ids = [`memory-${stored}`];
    const all: Viewer = { all: true, agentId: null, asNamespace: null };
    const archived = { kind: 'archive-memories', ids, viewer: all, reason: 'consolidate' } as const;
    assert.deepEqual(unwrap(await services.store.execute(archived)).archived, ids);
    assert.deepEqual(await heard('removals'), ['memory_store', 'memory_delete']);

    await subscribe('team');
    const hidden = aMemory({
      ...{ id: 'hidden', title: 'plan', namespace: 'team/below' },
      metadata: { agent_id: 'ai:other', scope: 'private' },
    });
    const clone = aMemory({
      ...{ id: 'clone', title: 'plan', namespace: 'team', metadata: { derived_from: ['hidden'] } },
    });
    for (const memory of [hidden, clone]) {
      const command = { kind: 'store-memory', memory, envelope: null, onConflict: 'error' } as const;
      unwrap(await services.store.execute({ ...command, viewer: all, archive: true }));
    }
    assert.deepEqual(await heard('team'), ['memory_store']);
  });

  it('sends an event again a limited number of times', async () => {
    await subscribe('often');
    await store('often');
    for (let n = 0; n < WEBHOOK_REPLAYS_MAX; n += 1) {
      await giveUp('often');
      assert.equal(await resend('often'), 1);
    }
    await giveUp('often');
    assert.equal(await resend('often'), 0, 'it is poison');
    assert.equal((await subscription('often')).dlq_count, 1);
  });

  it('waits between attempts, and not for ever where the clock was set back', async () => {
    await subscribe('waits');
    await store('waits');
    const dueAt = async (nowMs: number) => (await due('waits', nowMs))[0] ?? null;
    const beganMs = Date.now();
    await record('waits', 'network');
    assert.equal(await dueAt(beganMs - 1), null);
    assert.notEqual(await dueAt(Date.now() + WEBHOOK_RETRY_MS[0]), null);
    assert.notEqual(await dueAt(beganMs - 3_600_000), null);
  });

  it('records the results of a turn in one command, in the order of the events', async () => {
    await subscribe('turn');
    for (let n = 0; n < 4; n += 1) await store('turn');
    const seqs = (await due('turn', LATER_MS, 3)).map(({ seq }) => seq);
    assert.equal(seqs.length, 3);
    const turn = { subscriptionId: 'turn', acknowledged: seqs.slice(0, 2) } as const;
    const failed = { seq: seqs[2]!, error: 'http-500' };
    const command = { kind: 'record-deliveries', ...turn, failed } as const;
    const said = unwrap(await services.store.execute(command));
    assert.deepEqual(said, { became: ['ack', 'ack', 'retry'], quarantined: false });
    const again = unwrap(await services.store.execute({ ...command, failed: null }));
    assert.deepEqual(again.became, ['gone', 'gone'], 'what ended stays ended');
    const { dispatch_count, failures_in_row, pending_count } = await subscription('turn');
    assert.deepEqual([dispatch_count, failures_in_row, pending_count], [2, 0, 2]);
    assert.deepEqual(
      await due('turn', Date.now() - 1, 3),
      [],
      'later events wait for the one that is tried again',
    );
    assert.equal((await due('turn', LATER_MS, 3))[0]?.seq, seqs[2]);
  });

  it('ends with its subscription', async () => {
    await subscribe('gone');
    await store('gone');
    const { seq } = (await next('gone'))!;
    const gone = { kind: 'unsubscribe', id: 'gone', viewer: { ...OWNER, agentId: 'ai:other' } } as const;
    assert.equal(unwrap(await services.store.execute(gone)).removed, false, 'another agent');
    assert.equal(unwrap(await services.store.execute({ ...gone, viewer: OWNER })).removed, true);
    const ended = { acknowledged: [seq], failed: { seq: seq + 1, error: 'network' } };
    const late = { kind: 'record-deliveries', subscriptionId: 'gone', ...ended } as const;
    assert.deepEqual(unwrap(await services.store.execute(late)).became, ['gone', 'gone']);
    await store('gone');
    assert.equal(await next('gone'), null);
  });

  it('keeps so much history and no more', async () => {
    await subscribe('history');
    const count = 3;
    for (let n = 0; n < count; n += 1) await store('history');
    for (let n = 1; n < count; n += 1) await record('history', null);
    const asked = {
      kind: 'subscription-events',
      subscriptionId: 'history',
      since: SINCE,
      limit: 10,
    } as const;
    const kept = async () =>
      unwrap(await services.store.query({ ...asked, viewer: OWNER })).events.map(
        (row) => row.delivery_status,
      );
    assert.deepEqual(await kept(), ['ack', 'ack', 'pending']);
    unwrap(await services.store.execute({ kind: 'prune-events', before: SINCE, limit: 10 }));
    assert.deepEqual(await kept(), ['ack', 'ack', 'pending'], `below ${SUBSCRIPTION_HISTORY_MAX}, and young`);
    unwrap(
      await services.store.execute({ kind: 'prune-events', before: '2999-01-01T00:00:00.000Z', limit: 100 }),
    );
    assert.deepEqual(await kept(), ['pending'], 'what waits stays');
  });

  it('removes a dead letter with its event, which could not be sent again', async () => {
    await subscribe('letters');
    await store('letters');
    await giveUp('letters');
    const letters = async () => {
      const asked = { kind: 'dead-letters', subscriptionId: 'letters', limit: 10, viewer: OWNER } as const;
      return unwrap(await services.store.query(asked)).entries.length;
    };
    const counts = async () => {
      const { dlq_count, ended_count, pending_count } = await subscription('letters');
      return [await letters(), dlq_count, ended_count, pending_count];
    };
    assert.deepEqual(await counts(), [1, 1, 1, 0]);
    unwrap(
      await services.store.execute({ kind: 'prune-events', before: '2999-01-01T00:00:00.000Z', limit: 100 }),
    );
    assert.deepEqual(await counts(), [0, 0, 0, 0]);
    assert.equal(await resend('letters'), 0);
  });

  it('keeps what waits behind a quarantine as long as the history, and counts what it drops', async () => {
    await subscribe('held');
    for (let n = 0; n < WEBHOOK_FAILURES_IN_ROW_MAX + 2; n += 1) await store('held');
    for (let n = 0; n < WEBHOOK_FAILURES_IN_ROW_MAX; n += 1) await giveUp('held');
    const counts = async () => {
      const { status, pending_count, ended_count, dlq_count, dropped_count } = await subscription('held');
      return [status, pending_count, ended_count, dlq_count, dropped_count];
    };
    const prune = async (before: string, limit: number) =>
      unwrap(await services.store.execute({ kind: 'prune-events', before, limit })).more;
    const held = WEBHOOK_FAILURES_IN_ROW_MAX;
    await prune(SINCE, 100);
    assert.deepEqual(await counts(), ['quarantined', 2, held, held, 0], 'all are young');
    await prune('2999-01-01T00:00:00.000Z', 1000);
    assert.deepEqual(await counts(), ['quarantined', 0, 0, 0, 2]);
    assert.equal(await resend('held'), 0);
    await store('held');
    assert.equal((await record('held', null)).became, 'ack', 'a later event is sent');
  });
});

describe('the pages of events and dead letters', () => {
  it('end before their bodies exceed a page, and say so', () => {
    const db = openDatabase(openOptions(':memory:', Date.now()));
    const tables = new LocalTables(db);
    const context = { now: '2026-07-01T00:00:00.000Z', nowMs: 0 } as DecisionContext;
    const none = { dispatch_count: 0, failure_count: 0, failures_in_row: 0, last_dispatched_at: null };
    tables.put(subscriptionKind.name, {
      ...{ id: 'one', url: 'https://example.org/', events: '*', secret_hash: null, namespace_filter: null },
      ...{ agent_filter: null, created_by: 'ai:owner', sees_all: false, created_at: SINCE, status: 'active' },
      ...{ ...none, pending_count: 0, dlq_count: 0, dropped_count: 0, ended_count: 0 },
      ...{ passed_seq: 0, since_seq: 0 },
    });
    const title = 'x'.repeat(PAGE_BYTES_MAX / 4);
    const event = {
      event: 'memory_delete',
      memory_id: 'm',
      namespace: 'n',
      agent_id: null,
      details: { title },
    };
    const announced = {
      event: JSON.stringify(event),
      audience: JSON.stringify(whoSees()),
      at: context.now,
      at_ms: 0,
    };
    for (let n = 0; n < 5; n += 1) tables.put(announcedKind.name, announced);
    for (let n = 1; n <= 5; n += 1) {
      const recorded = { seq: n, event, audience: whoSees(), at: context.now, atMs: 0 } as never;
      const failed = { ...outboxEvent('one', recorded, 'pending'), last_error: 'network' };
      const seen = { first_failed_at: context.now, delivery_status: 'failed' } as const;
      // Every second one has no row of its own.
      if (n % 2 === 0) tables.put(outboxKind.name, { ...failed, ...seen });
      const { subscription_id, correlation_id, event_type, payload } = failed;
      const dead = { subscription_id, correlation_id, event_type, payload, retry_count: failed.attempts };
      const at = { first_failed_at: context.now, last_failed_at: context.now };
      tables.put(deadLetterKind.name, { ...dead, ...at, last_error: 'network' });
    }
    const statements = new Statements(db);
    const parts = { statements, find: new FindRows(statements) };
    const asked = { subscriptionId: 'one', since: SINCE, viewer: OWNER } as const;
    const events = subscriptionEvents(parts, { kind: 'subscription-events', ...asked, limit: 10 });
    assert.deepEqual([events.events.length, events.truncated], [3, true]);
    const letters = deadLetters(parts, { kind: 'dead-letters', ...asked, limit: 10 });
    assert.deepEqual([letters.entries.length, letters.truncated], [3, true]);
    const few = deadLetters(parts, { kind: 'dead-letters', ...asked, limit: 2 });
    assert.deepEqual([few.entries.length, few.truncated], [2, false]);
    db.close();
  });
});
