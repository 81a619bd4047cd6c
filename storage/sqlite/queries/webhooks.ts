import {
  ANNOUNCED_EVENTS_COUNTED,
  ANNOUNCED_EVENTS_MAX,
  ANNOUNCED_EVENTS_STEP,
  PAGE_BYTES_MAX,
} from '../../../protocol/base/limits.js';
import type { Instant } from '../../../protocol/base/meanings.js';
import { utf8Bytes } from '../../../protocol/base/utf8.js';
import type { Viewer } from '../../../protocol/base/viewer.js';
import type { Answers } from '../../../protocol/release.js';
import { type DeadLetter, type OutboxEvent, outboxEvent } from '../../../protocol/webhooks/outbox.js';
import type {
  AnnouncedSince,
  CountDeadLetters,
  DeadLetters,
  Delivery,
  DueSubscriptions,
  ListSubscriptions,
  NextDeliveries,
  SubscriptionEvents,
  WebhookTotals,
} from '../../../protocol/webhooks/queries.js';
import { type Filter, hears, type Subscription } from '../../../protocol/webhooks/subscription.js';
import { announcedAfter, lastAnnounced, subscriptionRevision } from '../announced-events.js';
import { registry } from '../registered.js';
import type { Statements } from '../statements.js';
import { type SubscriptionSqlRow, subscriptionFromSql } from '../webhook-reads.js';
import type { QueryParts } from './query-parts.js';

/** The subscriptions `s` that a viewer may see. */
/** A subscription that sees everything is shown only to operators: any caller can claim its creator's name. */
const OWN = '(@all = 1 OR (s.sees_all = 0 AND s.created_by = @agent))';
const ownOf = ({ all, agentId }: Viewer) => ({ all: all ? 1 : 0, agent: agentId });

/** A row may be sent now; a retry that lies far ahead was planned before the clock was set back. */
const IS_DUE = '(e.next_attempt_ms <= @nowMs OR e.next_attempt_ms > @nowMs + 60000)';
const FIRST_PENDING = `(SELECT min(seq) FROM subscription_events
  WHERE subscription_id = s.id AND delivery_status = 'pending')`;

export function listSubscriptions(
  { statements }: QueryParts,
  { viewer }: ListSubscriptions,
): Answers['list-subscriptions'] {
  const rows = statements
    .get(`SELECT * FROM subscriptions s WHERE ${OWN} ORDER BY s.created_at, s.id`)
    .all(ownOf(viewer)) as SubscriptionSqlRow[];
  const { counts } = recordedWaiting(statements, rows.map(subscriptionFromSql));
  return {
    subscriptions: rows.map((row) => {
      const subscription = subscriptionFromSql(row);
      return { ...subscription, pending_count: row.pending_count + counts.get(row.id)! };
    }),
  };
}

/** How many recorded events wait for each subscription, of those next ahead of the last one, and since when. */
function recordedWaiting(texts: Statements, subscriptions: readonly Subscription[]) {
  let oldestAt: Instant | null = null;
  const counts = new Map(subscriptions.map(({ id }) => [id, 0]));
  const begins = Math.min(...subscriptions.map(({ passed_seq }) => passed_seq));
  if (!Number.isFinite(begins)) return { counts, oldestAt };
  const groups = groupsOf(subscriptions);
  const isRegistered = registry(texts);
  for (const event of announcedAfter(texts, begins, ANNOUNCED_EVENTS_COUNTED)) {
    for (const { filter, members } of groups) {
      if (!hears(filter, event, isRegistered)) continue;
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
  { statements }: QueryParts,
  { after, limit }: AnnouncedSince,
): Answers['announced-since'] {
  const rows = statements.get("SELECT * FROM subscriptions WHERE status = 'active'").all();
  const active = (rows as SubscriptionSqlRow[]).map(subscriptionFromSql);
  const lastSeq = lastAnnounced(statements);
  const begins = after ?? Math.min(lastSeq, ...active.map(({ passed_seq }) => passed_seq));
  const groups = groupsOf(active);
  const isRegistered = registry(statements);
  const found = new Set<string>();
  let through = begins;
  let looked = 0;
  for (const event of announcedAfter(statements, begins, limit)) {
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
  { statements }: QueryParts,
  { subscriptionId, since, limit, viewer }: SubscriptionEvents,
): Answers['subscription-events'] {
  const known = statements
    .get(`SELECT s.* FROM subscriptions s WHERE s.id = @subscriptionId AND ${OWN}`)
    .get({ ...ownOf(viewer), subscriptionId }) as SubscriptionSqlRow | undefined;
  if (known === undefined) return { events: [], truncated: false };
  const rows = statements
    .get(
      `SELECT * FROM subscription_events WHERE subscription_id = @subscriptionId AND delivered_at >= @since
       ORDER BY seq LIMIT @limit`,
    )
    .all({ subscriptionId, since, limit }) as OutboxEvent[];
  const recorded = recordedHistory(statements, subscriptionFromSql(known), since);
  const { page: events, truncated } = pageOf(merged(rows, recorded, limit));
  return { events, truncated };
}

/** The recorded events of a subscription without rows of their own: acknowledged at once, or not sent yet. */
function* recordedHistory(
  texts: Statements,
  subscription: Subscription,
  since: Instant,
): Generator<OutboxEvent> {
  const { id, passed_seq, since_seq } = subscription;
  const isRegistered = registry(texts);
  const hasRow = texts.get('SELECT 1 FROM subscription_events WHERE subscription_id = ? AND seq = ?');
  for (const event of announcedAfter(texts, since_seq, ANNOUNCED_EVENTS_MAX, since)) {
    if (!hears(subscription, event, isRegistered) || hasRow.get(id, event.seq) !== undefined) continue;
    yield outboxEvent(id, event, event.seq > passed_seq ? 'pending' : 'ack');
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
  { statements }: QueryParts,
  { subscriptionId, limit, viewer }: DeadLetters,
): Answers['dead-letters'] {
  const rows = statements
    .get(
      `SELECT d.* FROM subscriptions s JOIN subscription_dlq d ON d.subscription_id = s.id
       WHERE (@subscriptionId IS NULL OR s.id = @subscriptionId) AND ${OWN} ORDER BY d.id DESC LIMIT @limit`,
    )
    .iterate({ ...ownOf(viewer), subscriptionId, limit }) as Iterable<DeadLetter & { id: number }>;
  const { page: entries, truncated } = pageOf(rows);
  return { entries, truncated };
}

export function countDeadLetters(
  { statements }: QueryParts,
  { viewer }: CountDeadLetters,
): Answers['count-dead-letters'] {
  const dead = statements
    .get(
      `SELECT count(*) FROM subscriptions s JOIN subscription_dlq d ON d.subscription_id = s.id WHERE ${OWN}`,
    )
    .pluck()
    .get(ownOf(viewer)) as number;
  return { dead };
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
  { statements }: QueryParts,
  { nowMs, limit, ofOwner, except, waiting }: DueSubscriptions,
): Answers['due-subscriptions'] {
  const any = statements.get('SELECT EXISTS (SELECT 1 FROM subscriptions)').pluck().get() === 1;
  const lastSeq = lastAnnounced(statements);
  const revision = subscriptionRevision(statements);
  if (!any) return { ids: [], any, lastSeq, revision };
  const mayWait =
    waiting === null ? 's.passed_seq < @lastSeq' : 's.id IN (SELECT value FROM json_each(@waiting))';
  const ids = statements
    .get(
      `SELECT id FROM (
         SELECT s.id, coalesce(e.next_attempt_ms, 0) AS next_attempt_ms,
           s.id IN (SELECT value FROM json_each(@except)) AS served, row_number() OVER (PARTITION BY s.created_by
             ORDER BY s.id IN (SELECT value FROM json_each(@except)) DESC, e.next_attempt_ms) AS place
         FROM subscriptions s
         LEFT JOIN subscription_events e ON e.subscription_id = s.id AND e.seq = ${FIRST_PENDING}
         WHERE s.status = 'active' AND iif(s.pending_count > 0, e.seq IS NULL OR ${IS_DUE}, ${mayWait}))
       WHERE served = 0 AND place <= @ofOwner ORDER BY place, next_attempt_ms LIMIT @limit`,
    )
    .pluck()
    .all({
      ...{ nowMs, limit, ofOwner, except: JSON.stringify(except) },
      ...(waiting === null ? { lastSeq } : { waiting: JSON.stringify(waiting) }),
    }) as string[];
  return { ids, any, lastSeq, revision };
}

export function nextDeliveries(
  { statements }: QueryParts,
  { subscriptionId, nowMs, limit }: NextDeliveries,
): Answers['next-deliveries'] {
  const row = statements
    .get("SELECT * FROM subscriptions WHERE id = ? AND status = 'active'")
    .get(subscriptionId) as SubscriptionSqlRow | undefined;
  if (row === undefined) return { deliveries: [], through: null, isEnd: true };
  const { url, secret_hash: secretHash, passed_seq } = row;
  const sent = ({ seq, correlation_id: correlationId, payload: body }: OutboxEvent): Delivery => ({
    ...{ subscriptionId, seq, correlationId, url, body, secretHash },
  });
  const own = statements
    .get(
      `SELECT e.*, ${IS_DUE} AS isDue FROM subscription_events e
       WHERE e.subscription_id = @subscriptionId AND e.delivery_status = 'pending' ORDER BY e.seq LIMIT @limit`,
    )
    .all({ subscriptionId, nowMs, limit }) as (OutboxEvent & { readonly isDue: number })[];
  const later = own.findIndex(({ isDue }) => isDue === 0);
  const deliveries = (later < 0 ? own : own.slice(0, later)).map(sent);
  if (later >= 0 || deliveries.length === limit) return { deliveries, through: null, isEnd: false };
  const filter = subscriptionFromSql(row);
  const isRegistered = registry(statements);
  let through = passed_seq;
  let looked = 0;
  for (const event of announcedAfter(statements, passed_seq, ANNOUNCED_EVENTS_STEP)) {
    looked += 1;
    through = event.seq;
    if (hears(filter, event, isRegistered))
      deliveries.push(sent(outboxEvent(subscriptionId, event, 'pending')));
    if (deliveries.length === limit) return { deliveries, through, isEnd: false };
  }
  return { deliveries, through, isEnd: looked < ANNOUNCED_EVENTS_STEP };
}

export function webhookTotals({ statements }: Pick<QueryParts, 'statements'>) {
  const totals = statements
    .get(
      `SELECT count(*) AS subscriptions, coalesce(sum(status = 'quarantined'), 0) AS quarantined,
         coalesce(sum(pending_count), 0) AS pending, coalesce(sum(dlq_count), 0) AS dead,
         coalesce(sum(dropped_count), 0) AS dropped FROM subscriptions`,
    )
    .get() as WebhookTotals;
  const rows = statements.get('SELECT * FROM subscriptions').all() as SubscriptionSqlRow[];
  const { counts, oldestAt } = recordedWaiting(statements, rows.map(subscriptionFromSql));
  let { pending } = totals;
  for (const count of counts.values()) pending += count;
  return { ...totals, pending, oldestAt };
}
