import { ANNOUNCED_EVENTS_MAX, SUBSCRIPTION_HISTORY_MAX, SUBSCRIPTIONS_MAX } from '../base/limits.js';
import type { AgentId, Instant } from '../base/meanings.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, decided } from '../decide/deciding.js';
import { countLocalRows, dropRows, lastNumberOf, localRows, putRow } from '../decide/local-rows.js';
import type { Mutation } from '../decide/mutations.js';
import type { Reading } from '../decide/reads.js';
import { isRegistered } from '../namespaces/gate-policy.js';
import { announcedKind, deadLetterKind, type OutboxEvent, outboxKind, recordedEvent } from './outbox.js';
import { hears, type Subscription, subscriptionKind } from './subscription.js';

/**
 * Removes delivered and failed events that are too old or too many, with their dead letters, and events that wait behind a
 * quarantine too long.
 */
export interface PruneEvents {
  readonly kind: 'prune-events';
  readonly before: Instant;
  readonly limit: number;
}

/** Subscriptions as a pruning leaves them. */
class Pruned {
  private readonly changed = new Map<string, Subscription>();

  constructor(private readonly before: readonly Subscription[]) {}

  all(): readonly Subscription[] {
    return this.before.map((one) => this.changed.get(one.id) ?? one);
  }

  change(id: string, change: (before: Subscription) => Partial<Subscription>): void {
    const before = this.changed.get(id) ?? this.before.find((one) => one.id === id)!;
    this.changed.set(id, { ...before, ...change(before) });
  }

  mutations(): readonly Mutation[] {
    return [...this.changed.values()].map((one) => putRow(subscriptionKind, one));
  }
}

function* decidePruneEvents({ before, limit }: PruneEvents): Deciding<{ readonly more: boolean }> {
  const subscriptions = yield* localRows(subscriptionKind, { limit: SUBSCRIPTIONS_MAX });
  const pruned = new Pruned(subscriptions);
  const events = yield* spentEvents(subscriptions, before, limit);
  const drops: Mutation[] = [];
  for (const { subscription_id: id, seq, correlation_id, delivery_status } of events) {
    // It could not be sent again.
    const dead = yield* countLocalRows(deadLetterKind, { correlation_id });
    const waited = delivery_status === 'pending' ? 1 : 0;
    pruned.change(id, (one) => ({
      ended_count: one.ended_count - (1 - waited),
      pending_count: one.pending_count - waited,
      dropped_count: one.dropped_count + waited,
      dlq_count: one.dlq_count - dead,
      since_seq: Math.max(one.since_seq, seq),
    }));
    drops.push(dropRows(outboxKind, { subscription_id: id, seq }));
    if (dead > 0) drops.push(dropRows(deadLetterKind, { correlation_id }));
  }
  const announced = yield* spentAnnounced(subscriptions, before, limit);
  for (const { id, through, count } of announced.lost) {
    pruned.change(id, (one) => ({
      passed_seq: Math.max(one.passed_seq, through),
      since_seq: Math.max(one.since_seq, through),
      dropped_count: one.dropped_count + count,
    }));
  }
  for (const { id, passed_seq, since_seq } of pruned.all()) {
    const begin = Math.min(passed_seq, announced.old);
    if (since_seq < begin) pruned.change(id, () => ({ since_seq: begin }));
  }
  const through = Math.min(announced.floor, ...pruned.all().map(({ passed_seq }) => passed_seq));
  return decided({ more: events.length === limit || announced.more }, [
    ...drops,
    ...pruned.mutations(),
    dropRows(announcedKind, { seq: { to: through } }),
  ]);
}

type SpentEvent = Pick<
  OutboxEvent,
  'subscription_id' | 'seq' | 'correlation_id' | 'delivery_status' | 'delivered_at'
>;

const ONLY = ['subscription_id', 'seq', 'correlation_id', 'delivery_status', 'delivered_at'] as const;

/**
 * Ended events that are older than an instant, or more than a subscription's history keeps, and events older than that
 * which wait behind a quarantine.
 */
function* spentEvents(
  subscriptions: readonly Subscription[],
  before: Instant,
  limit: number,
): Reading<readonly SpentEvent[]> {
  const found: SpentEvent[] = [];
  for (const { id, status, pending_count, ended_count } of subscriptions) {
    const room = () => limit - found.length;
    const surplus = Math.min(room(), ended_count - SUBSCRIPTION_HISTORY_MAX);
    if (ended_count > 0)
      found.push(...(surplus > 0 ? yield* ended(id, null, surplus) : yield* ended(id, before, room())));
    if (status === 'quarantined' && pending_count > 0) {
      const where = { subscription_id: id, delivery_status: 'pending' };
      const waiting = yield* localRows(outboxKind, {
        where,
        order: { by: 'seq' },
        limit: room(),
        only: ONLY,
      });
      found.push(...waiting.filter(({ delivered_at }) => delivered_at < before));
    }
    if (room() <= 0) break;
  }
  return found;
}

/** The oldest ended events of a subscription. */
function* ended(id: string, before: Instant | null, limit: number): Reading<readonly SpentEvent[]> {
  const found: SpentEvent[] = [];
  for (const delivery_status of ['ack', 'failed']) {
    const of = { subscription_id: id, delivery_status };
    const where = before === null ? of : { ...of, delivered_at: { before } };
    found.push(
      ...(yield* localRows(outboxKind, { where, order: { by: 'delivered_at' }, limit, only: ONLY })),
    );
  }
  return found.sort((a, b) => (a.delivered_at < b.delivered_at ? -1 : 1)).slice(0, limit);
}

/** What is dropped of the recorded events: those up to `floor`; histories begin after `old`. */
interface SpentAnnounced {
  readonly old: number;
  readonly floor: number;
  /** Subscriptions that lose events which waited too long, with their number, and the place up to which. */
  readonly lost: readonly { readonly id: string; readonly through: number; readonly count: number }[];
  readonly more: boolean;
}

function* placeOf(find: Parameters<typeof localRows>[1]): Reading<number | null> {
  return (yield* localRows(announcedKind, { ...find, limit: 1, only: ['seq'] }))[0]?.seq ?? null;
}

/** Events older than an instant, as far as nobody waits for them, and those beyond the number that is kept. */
function* spentAnnounced(
  subscriptions: readonly Subscription[],
  before: Instant,
  limit: number,
): Reading<SpentAnnounced> {
  const last = yield* lastNumberOf({ of: announcedKind.name });
  const first = (yield* placeOf({ limit: 1 })) ?? 0;
  if (subscriptions.length === 0) {
    const floor = Math.min(last, first + limit - 1);
    return { old: 0, floor, lost: [], more: floor < last };
  }
  const young = yield* placeOf({ where: { at: { from: before } }, order: { by: 'seq' }, limit: 1 });
  const old = young === null ? last : young - 1;
  const kept = yield* localRows(announcedKind, {
    ...{ order: { by: 'seq', descending: true }, skip: ANNOUNCED_EVENTS_MAX, limit: 1, only: ['seq'] },
  });
  const surplus = kept[0]?.seq ?? 0;
  const lost = yield* lostEvents(subscriptions, { old, surplus, limit });
  const floor = Math.min(Math.max(old, surplus), first + limit - 1);
  const passed = Math.min(...subscriptions.map(({ passed_seq }) => passed_seq));
  return { old, floor, lost: lost.each, more: !lost.isAll || (passed > floor && old > floor) };
}

/** What subscriptions that stay behind lose: quarantined ones all that is old, the others what is too much. */
function* lostEvents(
  subscriptions: readonly Subscription[],
  { old, surplus, limit }: { readonly old: number; readonly surplus: number; readonly limit: number },
): Reading<{ readonly each: SpentAnnounced['lost']; readonly isAll: boolean }> {
  const endOf = ({ status }: Subscription) => (status === 'quarantined' ? Math.max(old, surplus) : surplus);
  const behind = subscriptions.filter((one) => one.passed_seq < endOf(one));
  if (behind.length === 0) return { each: [], isAll: true };
  const after = Math.min(old, ...behind.map(({ passed_seq }) => passed_seq));
  const rows = yield* localRows(announcedKind, { where: { seq: { after } }, order: { by: 'seq' }, limit });
  const events = rows.map(recordedEvent);
  const registered = new Map<AgentId, boolean>();
  for (const { created_by } of behind)
    if (!registered.has(created_by)) registered.set(created_by, yield* isRegistered(created_by));
  const isKnown = (agentId: AgentId | null) => agentId !== null && registered.get(agentId) === true;
  const isAll = events.length < limit;
  const each = behind.map((one) => {
    const through = Math.max(one.passed_seq, isAll ? endOf(one) : Math.min(endOf(one), events.at(-1)!.seq));
    const count = events.filter(
      (event) => event.seq > one.passed_seq && event.seq <= through && hears(one, event, isKnown),
    ).length;
    return { id: one.id, through, count };
  });
  return { each, isAll };
}

export const pruneEventsCommand = defineCommand({
  kind: 'prune-events',
  decide: decidePruneEvents,
  gate: 'upkeep',
});
