import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  SUBSCRIPTIONS_MAX,
  SUBSCRIPTIONS_PER_AGENT_MAX,
  WEBHOOK_BODY_BYTES_MAX,
} from '../../../protocol/base/limits.js';
import { detailsOf } from '../../../protocol/base/result.js';
import { utf8Bytes } from '../../../protocol/base/utf8.js';
import { localRowsOf, putLocalRow } from '../../../protocol/decide/local-rows.js';
import { isMutation, type Mutation } from '../../../protocol/decide/mutations.js';
import { bounded } from '../../../protocol/webhooks/emit.js';
import { eventList } from '../../../protocol/webhooks/event-types.js';
import {
  type AnnouncedRow,
  announcedKind,
  bodyOf,
  correlationId,
  recordedEvent,
} from '../../../protocol/webhooks/outbox.js';
import { hears, type Subscription } from '../../../protocol/webhooks/subscription.js';
import type { WebhookEvent } from '../../../protocol/webhooks/webhook-event.js';
import { aMemory, deleting, storing, tenant } from '../../support/memories.js';
import { aRow, decideOver, NOW, refused, taken } from '../decide/answerer.js';

const aSubscription = (fields: Partial<Subscription> = {}): Subscription => ({
  id: 'one',
  url: 'https://example.org/',
  events: '*',
  secret_hash: null,
  namespace_filter: null,
  agent_filter: null,
  created_by: 'ai:owner' as never,
  sees_all: false,
  created_at: NOW,
  last_dispatched_at: null,
  dispatch_count: 0,
  failure_count: 0,
  failures_in_row: 0,
  status: 'active',
  pending_count: 0,
  dlq_count: 0,
  dropped_count: 0,
  ended_count: 0,
  passed_seq: 0,
  since_seq: 0,
  ...fields,
});

/** What a change records while somebody subscribes. */
const recorded = (mutations: readonly Mutation[]) =>
  mutations.flatMap((each) =>
    isMutation(each, putLocalRow) && each.of === announcedKind.name
      ? [recordedEvent({ seq: 1, ...(each.row as Omit<AnnouncedRow, 'seq'>) })]
      : [],
  );

describe('the events of a decision', () => {
  it('are recorded once, however many subscriptions there are, and not at all where there is none', () => {
    for (const count of [0, 1, 1000]) {
      const subscriptions = Array.from({ length: count }, (_, n) => aSubscription({ id: `s${n}` }));
      const { mutations } = taken(decideOver(storing({ title: 'new' }), [], { subscriptions }));
      assert.equal(recorded(mutations).length, Math.min(count, 1));
      assert.ok(!mutations.some((each) => 'of' in each && each.of !== announcedKind.name));
    }
  });

  it('are none of a subscription that filters them out, or whose owner may not see the memory', () => {
    const { mutations } = taken(
      decideOver(storing({ title: 'new' }), [], { subscriptions: [aSubscription()] }),
    );
    const [stored] = recorded(mutations);
    assert.ok(hears(aSubscription(), stored!, () => false));
    for (const fields of [
      { events: 'memory_delete,approval_requested' },
      { namespace_filter: 'globa' },
      { agent_filter: 'ai:owner' },
    ])
      assert.ok(!hears(aSubscription(fields), stored!, () => false), JSON.stringify(fields));
    const metadata = { agent_id: 'ai:writer', scope: 'private' };
    const row = aRow({ id: 'private', metadata });
    const deleted = recorded(
      taken(decideOver(deleting('private'), [row], { subscriptions: [aSubscription()] })).mutations,
    );
    // As it comes back from the table.
    const [removal] = JSON.parse(JSON.stringify(deleted)) as typeof deleted;
    assert.ok(!hears(aSubscription(), removal!, () => false));
    assert.ok(hears(aSubscription({ created_by: 'ai:writer' as never }), removal!, () => false));
    assert.ok(hears(aSubscription({ sees_all: true }), removal!, () => false));
  });

  it('read nothing more where nothing is subscribed', () => {
    const { reads, result } = decideOver(storing({ title: 'new' }));
    assert.ok(result.ok);
    assert.ok(!reads.some(({ read }) => read === localRowsOf.read));
  });
});

describe('the body of an event', () => {
  const event = (details: WebhookEvent['details']): WebhookEvent => ({
    ...{ event: 'memory_consolidated', memory_id: 'joined', namespace: 'team', agent_id: 'ai:a' },
    details,
  });
  const bytes = (cut: WebhookEvent) =>
    utf8Bytes(bodyOf(cut, correlationId('one', 1, 1_785_240_000_000), NOW));
  const ids = Array.from({ length: 1500 }, (_, n) => `\u00e9-5f0c4c1e-7c5f-4d52-9a3e-${n}`);

  it('stays as it is where it fits', () => {
    const whole = event({ source_ids: ids.slice(0, 100), source_count: 100 });
    assert.deepEqual(bounded(whole), whole);
  });

  it('keeps the beginning of a longer list, says so, and has almost all bytes that it may have', () => {
    const cut = bounded(event({ source_ids: ids, source_count: ids.length }));
    const kept = cut.details['source_ids'] as string[];
    assert.deepEqual(cut.details, {
      truncated: true,
      source_count: ids.length,
      source_ids: ids.slice(0, kept.length),
    });
    assert.ok(
      bytes(cut) <= WEBHOOK_BODY_BYTES_MAX && bytes(cut) > WEBHOOK_BODY_BYTES_MAX - 64,
      `${bytes(cut)}`,
    );
  });

  it('does not hold one value that does not fit', () => {
    const text = '"'.repeat(60_000);
    assert.deepEqual(bounded(event({ source_ids: [text], source_count: 1 })).details, {
      ...{ truncated: true, source_count: 1, source_ids: [] },
    });
    assert.deepEqual(bounded(event({ title: text, tier: 'long' })).details, {
      truncated: true,
      tier: 'long',
    });
  });

  it('is cut before it waits', () => {
    const memory = aMemory({ source: 'consolidation', metadata: { derived_from: ids } });
    const command = { ...storing({ title: 'new' }), memory };
    const { mutations } = taken(decideOver(command, [], { subscriptions: [aSubscription()] }));
    const added = recorded(mutations).map(({ event }) => event);
    assert.deepEqual([added.length, added[0]?.event], [1, 'memory_consolidated']);
    assert.ok(bytes(added[0]!) <= WEBHOOK_BODY_BYTES_MAX);
  });
});

describe('a subscription', () => {
  it('names known events, once each and in one order', () => {
    assert.deepEqual(eventList(['memory_delete ', 'memory_store', 'memory_delete']), {
      events: 'memory_store,memory_delete',
    });
    for (const all of [[], [''], ['memory_store', '*']]) assert.deepEqual(eventList(all), { events: '*' });
    assert.deepEqual(eventList(['memory_store', 'memory_stored']), { unknown: 'memory_stored' });
  });

  it('is refused beyond the number that an agent may have', () => {
    const subscriptions = Array.from({ length: SUBSCRIPTIONS_PER_AGENT_MAX }, (_, n) =>
      aSubscription({ id: `s${n}` }),
    );
    const { id: _id, ...rest } = aSubscription();
    const command = (by: string) => ({
      ...({ kind: 'subscribe', viewer: tenant(by) } as const),
      subscription: { ...rest, id: 'further', created_by: by as never },
    });
    assert.equal(refused(decideOver(command('ai:owner'), [], { subscriptions })).code, 'QUOTA_EXCEEDED');
    assert.ok(decideOver(command('ai:other'), [], { subscriptions }).result.ok);
  });

  it('is refused beyond the number that all agents may have together, whoever asks', () => {
    const subscriptions = Array.from({ length: SUBSCRIPTIONS_MAX }, (_, n) =>
      aSubscription({ id: `s${n}`, created_by: `ai:invented-${n}` as never }),
    );
    const { id: _id, ...rest } = aSubscription();
    const command = {
      ...({ kind: 'subscribe', viewer: tenant('ai:newcomer') } as const),
      subscription: { ...rest, id: 'further', created_by: 'ai:newcomer' as never },
    };
    const failure = refused(decideOver(command, [], { subscriptions }));
    assert.equal(detailsOf(failure, 'QUOTA_EXCEEDED')?.max, SUBSCRIPTIONS_MAX);
    assert.ok(decideOver(command, [], { subscriptions: subscriptions.slice(1) }).result.ok);
  });
});

describe('a correlation id', () => {
  it('is a UUID of version 7 that no other place and subscription has', () => {
    const ids = new Set<string>();
    for (const subscription of [
      '5f0c4c1e-7c5f-4d52-9a3e-0123456789ab',
      '0c0ffee0-0000-4000-8000-00000abcdef0',
    ])
      for (const seq of [1, 2, 255, 4096, 2 ** 32, 2 ** 40])
        ids.add(correlationId(subscription, seq, 1_785_240_000_000));
    assert.equal(ids.size, 12);
    for (const id of ids)
      assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});
