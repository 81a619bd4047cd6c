import { PAGE_BYTES_MAX } from '../../../protocol/limits.js';
import type { Answers } from '../../../protocol/queries.js';
import type { Viewer } from '../../../protocol/ranking/types.js';
import { utf8Bytes } from '../../../protocol/utf8.js';
import type { DeadLetter, OutboxEvent } from '../../../protocol/webhooks/outbox.js';
import type {
  DeadLetters,
  Delivery,
  DueSubscriptions,
  ListSubscriptions,
  NextDeliveries,
  SubscriptionEvents,
  WebhookTotals,
} from '../../../protocol/webhooks/queries.js';
import { type SubscriptionSqlRow, subscriptionFromSql } from '../webhook-reads.js';
import type { QueryParts } from './query-parts.js';

/** The subscriptions `s` that a viewer may see. */
/** What sees everything is its operator's only, whose name other callers can give. */
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
  return { subscriptions: rows.map(subscriptionFromSql) };
}

export function subscriptionEvents(
  { statements }: QueryParts,
  { subscriptionId, since, limit, viewer }: SubscriptionEvents,
): Answers['subscription-events'] {
  const rows = statements
    .get(
      `SELECT e.* FROM subscriptions s JOIN subscription_events e ON e.subscription_id = s.id
       WHERE s.id = @subscriptionId AND ${OWN} AND e.delivered_at >= @since ORDER BY e.seq LIMIT @limit`,
    )
    .iterate({ ...ownOf(viewer), subscriptionId, since, limit }) as Iterable<OutboxEvent>;
  const { page: events, truncated } = pageOf(rows);
  return { events, truncated };
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
  { nowMs, limit, ofOwner, except }: DueSubscriptions,
): Answers['due-subscriptions'] {
  const any = statements.get('SELECT EXISTS (SELECT 1 FROM subscriptions)').pluck().get() === 1;
  if (!any) return { ids: [], any };
  const ids = statements
    .get(
      `SELECT id FROM (
         SELECT s.id, e.next_attempt_ms, s.id IN (SELECT value FROM json_each(@except)) AS served,
           row_number() OVER (PARTITION BY s.created_by
             ORDER BY s.id IN (SELECT value FROM json_each(@except)) DESC, e.next_attempt_ms) AS place
         FROM subscriptions s JOIN subscription_events e ON e.seq = ${FIRST_PENDING}
         WHERE s.status = 'active' AND s.pending_count > 0 AND ${IS_DUE})
       WHERE served = 0 AND place <= @ofOwner ORDER BY place, next_attempt_ms LIMIT @limit`,
    )
    .pluck()
    .all({ nowMs, limit, ofOwner, except: JSON.stringify(except) }) as string[];
  return { ids, any };
}

export function nextDeliveries(
  { statements }: QueryParts,
  { subscriptionId, nowMs, limit }: NextDeliveries,
): Answers['next-deliveries'] {
  const rows = statements
    .get(
      `SELECT s.id AS subscriptionId, e.seq, e.correlation_id AS correlationId, s.url, e.payload AS body,
         s.secret_hash AS secretHash, ${IS_DUE} AS isDue
       FROM subscriptions s JOIN subscription_events e ON e.subscription_id = s.id
       WHERE s.id = @subscriptionId AND s.status = 'active' AND e.delivery_status = 'pending'
       ORDER BY e.seq LIMIT @limit`,
    )
    .all({ subscriptionId, nowMs, limit }) as (Delivery & { readonly isDue: number })[];
  const later = rows.findIndex(({ isDue }) => isDue === 0);
  return { deliveries: later < 0 ? rows : rows.slice(0, later) };
}

export function webhookTotals({ statements }: Pick<QueryParts, 'statements'>): Answers['webhook-totals'] {
  return statements
    .get(
      `SELECT count(*) AS subscriptions, coalesce(sum(status = 'quarantined'), 0) AS quarantined,
         coalesce(sum(pending_count), 0) AS pending, coalesce(sum(dlq_count), 0) AS dead,
         coalesce(sum(dropped_count), 0) AS dropped FROM subscriptions`,
    )
    .get() as WebhookTotals;
}
