import {
  ANNOUNCED_EVENTS_COUNTED,
  ANNOUNCED_EVENTS_MAX,
  ANNOUNCED_EVENTS_STEP,
  PAGE_BYTES_MAX,
  SUBSCRIPTIONS_MAX,
} from '../../../protocol/base/limits.js';
import type { Instant } from '../../../protocol/base/meanings.js';
import { utf8Bytes } from '../../../protocol/base/utf8.js';
import type { Viewer } from '../../../protocol/base/viewer.js';
import type { Where } from '../../../protocol/kinds/find.js';
import type { Answers } from '../../../protocol/release.js';
import {
  announcedKind,
  type DeadLetter,
  deadLetterKind,
  isOfWithheld,
  type OutboxEvent,
  outboxEvent,
  outboxKind,
  type RecordedEvent,
  recordedEvent,
} from '../../../protocol/webhooks/outbox.js';
import type {
  AnnouncedSince,
  CountDeadLetters,
  DeadLetters,
  Delivery,
  DueSubscriptions,
  ListSubscriptions,
  NextDeliveries,
  SubscriptionEvents,
} from '../../../protocol/webhooks/queries.js';
import {
  type Filter,
  hears,
  isOwn,
  ownerOfSubscription,
  type Subscription,
  subscriptionKind,
  subscriptionListKind,
} from '../../../protocol/webhooks/subscription.js';
import { type FindRows, localSource } from '../kinds/find-rows.js';
import { lastNumber } from '../kinds/local-tables.js';
import { registry } from '../registered.js';
import type { QueryParts } from './query-parts.js';

const NOBODY: Viewer = { all: false, agentId: null, asNamespace: null };

type Finding = Pick<QueryParts, 'statements' | 'find'>;

const SUBSCRIPTIONS = localSource(subscriptionKind);
const OUTBOX = localSource(outboxKind);
const DEAD = localSource(deadLetterKind);
const ANNOUNCED = localSource(announcedKind);
const LIST = localSource(subscriptionListKind);

/** A row may be sent now; a retry that lies far ahead was planned before the clock was set back. */
const isDue = ({ next_attempt_ms: at }: Pick<OutboxEvent, 'next_attempt_ms'>, nowMs: number): boolean =>
  at <= nowMs || at > nowMs + 60_000;

/** The recorded events after a place, and since an instant, in their order. */
function* announcedAfter(find: FindRows, after: number, limit: number, since = ''): Generator<RecordedEvent> {
  const where = { seq: { after }, at: { from: since } };
  for (const { row } of find.rows(ANNOUNCED, { where, order: { by: 'seq' }, limit }))
    yield recordedEvent(row);
}

const all = (find: FindRows, where: Where = {}): readonly Subscription[] =>
  find.all(SUBSCRIPTIONS, { where, limit: SUBSCRIPTIONS_MAX });

/** The subscriptions that a viewer may see, the oldest first. */
const shownTo = (find: FindRows, viewer: Viewer): readonly Subscription[] =>
  find.all(SUBSCRIPTIONS, { order: { by: 'created_at' }, limit: SUBSCRIPTIONS_MAX }, { viewer, now: '' });

export function listSubscriptions(
  { statements, find }: QueryParts,
  { viewer }: ListSubscriptions,
): Answers['list-subscriptions'] {
  const shown = shownTo(find, viewer);
  const { counts } = recordedWaiting({ statements, find }, shown, viewer.withheld);
  return {
    subscriptions: shown.map((one) => ({ ...one, pending_count: one.pending_count + counts.get(one.id)! })),
  };
}

/** How many recorded events wait for each subscription, of those next ahead of the last one, and since when. */
function recordedWaiting(
  { statements, find }: Finding,
  subscriptions: readonly Subscription[],
  withheld?: Viewer['withheld'],
) {
  let oldestAt: Instant | null = null;
  const counts = new Map(subscriptions.map(({ id }) => [id, 0]));
  const begins = Math.min(...subscriptions.map(({ passed_seq }) => passed_seq));
  if (!Number.isFinite(begins)) return { counts, oldestAt };
  const groups = groupsOf(subscriptions);
  const isRegistered = registry(statements);
  for (const event of announcedAfter(find, begins, ANNOUNCED_EVENTS_COUNTED)) {
    for (const { filter, members } of groups) {
      if (!hears(filter, event, isRegistered, withheld)) continue;
      for (const { id, passed_seq } of members) {
        if (event.seq <= passed_seq) break;
        oldestAt ??= event.at;
        counts.set(id, counts.get(id)! + 1);
      }
    }
  }
  return { counts, oldestAt };
}

/** Subscriptions that get the same events, those that are furthest behind first. */
function groupsOf(subscriptions: readonly Subscription[]) {
  const groups = new Map<string, { filter: Filter; members: Subscription[] }>();
  for (const one of subscriptions) {
    const { created_by, sees_all, events, namespace_filter, agent_filter } = one;
    const key = JSON.stringify([created_by, sees_all, events, namespace_filter, agent_filter]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { filter: one, members: [one] });
    else group.members.push(one);
  }
  for (const { members } of groups.values()) members.sort((a, b) => a.passed_seq - b.passed_seq);
  return [...groups.values()];
}

export function announcedSince(
  { db, statements, find }: QueryParts,
  { after, limit }: AnnouncedSince,
): Answers['announced-since'] {
  const active = all(find, { status: 'active' });
  const lastSeq = lastNumber(db, announcedKind);
  const begins = after ?? Math.min(lastSeq, ...active.map(({ passed_seq }) => passed_seq));
  const groups = groupsOf(active);
  const isRegistered = registry(statements);
  const found = new Set<string>();
  let through = begins;
  let looked = 0;
  for (const event of announcedAfter(find, begins, limit)) {
    through = event.seq;
    looked += 1;
    for (const { filter, members } of groups) {
      if (!hears(filter, event, isRegistered)) continue;
      for (const { id, passed_seq } of members) {
        if (event.seq <= passed_seq) break;
        found.add(id);
      }
    }
  }
  return { through: looked < limit ? Math.max(lastSeq, through) : through, ids: [...found] };
}

export function subscriptionEvents(
  { statements, find }: Finding,
  { subscriptionId, since, limit, viewer }: SubscriptionEvents,
): Answers['subscription-events'] {
  const known = find.one(SUBSCRIPTIONS, [subscriptionId]);
  if (known === null || !isOwn(known, viewer)) return { events: [], truncated: false };
  const where = { subscription_id: subscriptionId, delivered_at: { from: since } };
  const all = find.all(OUTBOX, { where, order: { by: 'seq' }, limit });
  const rows = all.filter((row) => !isOfWithheld(row, viewer.withheld));
  const recorded = recordedHistory({ statements, find }, known, { since, withheld: viewer.withheld });
  const { page: events, truncated } = pageOf(merged(rows, recorded, limit));
  return { events, truncated };
}

/** The recorded events of a subscription without rows of their own: acknowledged at once, or not sent yet. */
function* recordedHistory(
  { statements, find }: Finding,
  subscription: Subscription,
  { since, withheld }: { readonly since: Instant; readonly withheld: Viewer['withheld'] },
): Generator<OutboxEvent> {
  const { id, passed_seq, since_seq } = subscription;
  const isRegistered = registry(statements);
  for (const event of announcedAfter(find, since_seq, ANNOUNCED_EVENTS_MAX, since)) {
    const { seq } = event;
    if (!hears(subscription, event, isRegistered, withheld) || find.any(OUTBOX, { subscription_id: id, seq }))
      continue;
    yield outboxEvent(id, event, seq > passed_seq ? 'pending' : 'ack');
  }
}

/** Two lists in the order of their places, as one. */
function* merged(
  rows: readonly OutboxEvent[],
  recorded: Iterable<OutboxEvent>,
  limit: number,
): Generator<OutboxEvent> {
  let at = 0;
  let count = 0;
  for (const event of recorded) {
    for (; count < limit && (rows[at]?.seq ?? event.seq) < event.seq; at += 1, count += 1) yield rows[at]!;
    if (count >= limit) return;
    count += 1;
    yield event;
  }
  yield* rows.slice(at, at + limit - count);
}

export function deadLetters(
  { find }: Pick<QueryParts, 'find'>,
  { subscriptionId, limit, viewer }: DeadLetters,
): Answers['dead-letters'] {
  const order = { by: 'id', descending: true };
  const own = shownTo(find, viewer).filter(({ id }) => subscriptionId === null || id === subscriptionId);
  const ids = own.flatMap(({ id }) => {
    const newest = find.members(DEAD, ['id'], { where: { subscription_id: id }, order, limit });
    return [...newest].map((row) => Number(row.id));
  });
  const newest = ids.sort((a, b) => b - a).slice(0, limit);
  const { page: entries, truncated } = pageOf(each(find, newest, viewer));
  return { entries, truncated };
}

function* each(find: FindRows, ids: readonly number[], viewer: Viewer): Generator<DeadLetter> {
  for (const id of ids) {
    const letter = find.one(DEAD, [id])!;
    if (!isOfWithheld(letter, viewer.withheld)) yield letter;
  }
}

export function countDeadLetters(
  { find }: QueryParts,
  { viewer }: CountDeadLetters,
): Answers['count-dead-letters'] {
  const counts = shownTo(find, viewer).map(({ id }) => find.count(DEAD, { subscription_id: id }));
  return { dead: counts.reduce((sum, count) => sum + count, 0) };
}

/** Rows until their bodies would exceed a page; the first one is always taken. */
function pageOf<T extends { readonly payload: string }>(rows: Iterable<T>) {
  const page: T[] = [];
  let bytes = 0;
  for (const row of rows) {
    bytes += utf8Bytes(row.payload);
    if (bytes > PAGE_BYTES_MAX && page.length > 0) return { page, truncated: true };
    page.push(row);
  }
  return { page, truncated: false };
}

export function dueSubscriptions(
  { db, find }: QueryParts,
  { nowMs, limit, ofOwner, except, waiting }: DueSubscriptions,
): Answers['due-subscriptions'] {
  const any = find.any(SUBSCRIPTIONS);
  const lastSeq = lastNumber(db, announcedKind);
  const revision = find.one(LIST, [1])?.revision ?? 0;
  if (!any) return { ids: [], any, lastSeq, revision };
  const served = new Set(except);
  const mayWait = waiting === null ? null : new Set(waiting);
  const members = ['id', 'created_by', 'pending_count', 'passed_seq'] as const;
  const due: { readonly id: string; readonly owner: string; readonly at: number }[] = [];
  const active = { where: { status: 'active' }, limit: SUBSCRIPTIONS_MAX };
  for (const row of find.members(SUBSCRIPTIONS, members, active)) {
    const id = String(row.id);
    const [next] = row.pending_count === 0 ? [] : nextWaiting(find, id);
    const isWaiting = mayWait === null ? Number(row.passed_seq) < lastSeq : mayWait.has(id);
    const isNow = row.pending_count === 0 ? isWaiting : next === undefined || isDue(next, nowMs);
    if (isNow) due.push({ id, owner: String(row.created_by), at: next?.next_attempt_ms ?? 0 });
  }
  const places = new Map<string, number>();
  const first = (a: (typeof due)[number], b: (typeof due)[number]) =>
    Number(served.has(b.id)) - Number(served.has(a.id)) || a.at - b.at;
  const placed = due.sort(first).map((one) => {
    const place = (places.get(one.owner) ?? 0) + 1;
    places.set(one.owner, place);
    return { ...one, place };
  });
  const ids = placed
    .filter(({ id, place }) => !served.has(id) && place <= ofOwner)
    .sort((a, b) => a.place - b.place || a.at - b.at)
    .map(({ id }) => id);
  return { ids: ids.slice(0, limit), any, lastSeq, revision };
}

/** When the first event of a subscription that has a row of its own may be sent. */
function nextWaiting(find: FindRows, id: string): readonly { readonly next_attempt_ms: number }[] {
  const where = { subscription_id: id, delivery_status: 'pending' };
  const found = find.members(OUTBOX, ['next_attempt_ms'], { where, order: { by: 'seq' }, limit: 1 });
  return [...found] as { next_attempt_ms: number }[];
}

export function nextDeliveries(
  { statements, find }: QueryParts,
  { subscriptionId, nowMs, limit, withheld: rules }: NextDeliveries,
): Answers['next-deliveries'] {
  const known = find.one(SUBSCRIPTIONS, [subscriptionId]);
  if (known?.status !== 'active')
    return { owner: NOBODY, deliveries: [], withheld: [], through: null, isEnd: true };
  const owner = ownerOfSubscription(known);
  const { url, secret_hash: secretHash, passed_seq } = known;
  const sent = ({ seq, correlation_id: correlationId, payload: body }: OutboxEvent): Delivery => ({
    ...{ subscriptionId, seq, correlationId, url, body, secretHash },
  });
  const where = { subscription_id: subscriptionId, delivery_status: 'pending' };
  const own = find.all(OUTBOX, { where, order: { by: 'seq' }, limit });
  const later = own.findIndex((event) => !isDue(event, nowMs));
  const due = later < 0 ? own : own.slice(0, later);
  const kept = due.filter((event) => isOfWithheld(event, rules));
  const deliveries = due.filter((event) => !kept.includes(event)).map(sent);
  const found = { owner, deliveries, withheld: kept.map(({ seq }) => seq) };
  if (later >= 0 || due.length === limit) return { ...found, through: null, isEnd: false };
  const isRegistered = registry(statements);
  let through = passed_seq;
  let looked = 0;
  for (const event of announcedAfter(find, passed_seq, ANNOUNCED_EVENTS_STEP)) {
    looked += 1;
    through = event.seq;
    if (hears(known, event, isRegistered, rules))
      deliveries.push(sent(outboxEvent(subscriptionId, event, 'pending')));
    if (deliveries.length === limit) return { ...found, through, isEnd: false };
  }
  return { ...found, through, isEnd: looked < ANNOUNCED_EVENTS_STEP };
}

export function webhookTotals({
  statements,
  find,
}: Finding): Answers['webhook-totals'] & { oldestAt: Instant | null } {
  const subscriptions = all(find);
  const { counts, oldestAt } = recordedWaiting({ statements, find }, subscriptions);
  const sum = (of: (one: Subscription) => number) => subscriptions.reduce((total, one) => total + of(one), 0);
  return {
    subscriptions: subscriptions.length,
    quarantined: sum(({ status }) => (status === 'quarantined' ? 1 : 0)),
    pending: sum(({ id, pending_count }) => pending_count + counts.get(id)!),
    dead: sum(({ dlq_count }) => dlq_count),
    dropped: sum(({ dropped_count }) => dropped_count),
    oldestAt,
  };
}
