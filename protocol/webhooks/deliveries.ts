import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import type { Mutation } from '../decide/mutations.js';
import { read } from '../decide/reads.js';
import {
  SUBSCRIPTION_DEAD_LETTERS_MAX,
  WEBHOOK_FAILURES_IN_ROW_MAX,
  WEBHOOK_REPLAYS_MAX,
  WEBHOOK_RETRY_MS,
} from '../limits.js';
import type { Instant } from '../meanings.js';
import type { Viewer } from '../ranking/types.js';
import type { OutboxEvent } from './outbox.js';
import { isOwn, type Subscription } from './subscription.js';

/** Records how an attempt to deliver an event ended. */
export interface RecordDelivery {
  readonly kind: 'record-delivery';
  readonly subscriptionId: string;
  readonly seq: number;
  /** Why it failed; null for an acknowledged event. */
  readonly error: string | null;
}

/** What became of the event: `gone` for one whose subscription was removed meanwhile. */
export interface RecordDeliveryOutcome {
  readonly became: 'ack' | 'retry' | 'dead' | 'dropped' | 'gone';
  /** True when this failure quarantined the subscription. */
  readonly quarantined: boolean;
}

/** Sends failed events of a subscription again, and ends its quarantine. */
export interface ResendEvents {
  readonly kind: 'resend-events';
  readonly subscriptionId: string;
  readonly since: Instant;
  readonly limit: number;
  readonly viewer: Viewer;
}

export interface ResendEventsOutcome {
  readonly resent: number;
}

/**
 * Removes delivered and failed events that are too old or too many, with their dead letters, and events that wait behind a
 * quarantine too long.
 */
export interface PruneEvents {
  readonly kind: 'prune-events';
  readonly before: Instant;
  readonly limit: number;
}

/** Counts an attempt. The one after the last wait that fails makes the event a dead letter. */
export function* decideRecordDelivery(
  { subscriptionId, seq, error }: RecordDelivery,
  { now, nowMs }: DecisionContext,
): Deciding<RecordDeliveryOutcome> {
  const subscription = yield* read('subscription', { id: subscriptionId });
  const event = yield* read('outbox-event', { seq });
  if (subscription === null || event === null || event.subscription_id !== subscriptionId)
    return decided({ became: 'gone', quarantined: false }, []);
  if (event.delivery_status !== 'pending') return decided({ became: 'gone', quarantined: false }, []);
  const attempts = event.attempts + 1;
  if (error === null) return acknowledged(subscription, { ...event, attempts }, now);
  const failed = { ...event, attempts, last_error: error, first_failed_at: event.first_failed_at ?? now };
  const wait = WEBHOOK_RETRY_MS[event.attempts];
  if (wait !== undefined) {
    const later: OutboxEvent = { ...failed, next_attempt_ms: nowMs + wait };
    return decided({ became: 'retry', quarantined: false }, [{ mutation: 'put-event', event: later }]);
  }
  return givenUp(subscription, failed, now);
}

function acknowledged(subscription: Subscription, event: OutboxEvent, now: Instant) {
  const counted: Subscription = {
    ...subscription,
    last_dispatched_at: now,
    dispatch_count: subscription.dispatch_count + 1,
    failures_in_row: 0,
    pending_count: subscription.pending_count - 1,
    ended_count: subscription.ended_count + 1,
  };
  return decided<RecordDeliveryOutcome>({ became: 'ack', quarantined: false }, [
    { mutation: 'put-event', event: { ...event, delivery_status: 'ack', last_error: null } },
    { mutation: 'put-subscription', subscription: counted },
  ]);
}

function givenUp(subscription: Subscription, event: OutboxEvent, now: Instant) {
  const failures = subscription.failures_in_row + 1;
  const hasRoom = subscription.dlq_count < SUBSCRIPTION_DEAD_LETTERS_MAX;
  const quarantined = failures >= WEBHOOK_FAILURES_IN_ROW_MAX;
  const counted: Subscription = {
    ...subscription,
    last_dispatched_at: now,
    dispatch_count: subscription.dispatch_count + 1,
    failure_count: subscription.failure_count + 1,
    failures_in_row: failures,
    status: quarantined ? 'quarantined' : subscription.status,
    pending_count: subscription.pending_count - 1,
    ended_count: subscription.ended_count + 1,
    dlq_count: subscription.dlq_count + (hasRoom ? 1 : 0),
    dropped_count: subscription.dropped_count + (hasRoom ? 0 : 1),
  };
  const mutations: Mutation[] = [
    { mutation: 'put-event', event: { ...event, delivery_status: 'failed' } },
    { mutation: 'put-subscription', subscription: counted },
  ];
  if (hasRoom) mutations.push({ mutation: 'add-dead-letter', event, lastFailedAt: now });
  return decided<RecordDeliveryOutcome>({ became: hasRoom ? 'dead' : 'dropped', quarantined }, mutations);
}

/**
 * Does nothing where there is no such subscription, or where it belongs to another agent. Events that were sent again too
 * often stay as they are.
 */
export function* decideResendEvents(
  { subscriptionId, since, limit, viewer }: ResendEvents,
  { nowMs }: DecisionContext,
): Deciding<ResendEventsOutcome> {
  const subscription = yield* read('subscription', { id: subscriptionId });
  if (subscription === null || !isOwn(subscription, viewer)) return decided({ resent: 0 }, []);
  const asked = { subscriptionId, since, limit, replaysBelow: WEBHOOK_REPLAYS_MAX };
  const again = yield* read('failed-events', asked);
  const correlationIds = again.map(({ correlation_id }) => correlation_id);
  const removed = yield* read('count-dead-letters', { correlationIds });
  const counted: Subscription = {
    ...subscription,
    status: 'active',
    failures_in_row: 0,
    pending_count: subscription.pending_count + again.length,
    ended_count: subscription.ended_count - again.length,
    dlq_count: subscription.dlq_count - removed,
  };
  return decided({ resent: again.length }, [
    ...again.map(
      (event): Mutation => ({
        mutation: 'put-event',
        event: {
          ...event,
          delivery_status: 'pending',
          attempts: 0,
          next_attempt_ms: nowMs,
          replays: event.replays + 1,
        },
      }),
    ),
    { mutation: 'drop-dead-letters', correlationIds },
    { mutation: 'put-subscription', subscription: counted },
  ]);
}

export function* decidePruneEvents({ before, limit }: PruneEvents): Deciding<{ readonly more: boolean }> {
  const events = yield* read('prunable-events', { before, limit });
  return decided({ more: events.length === limit }, [{ mutation: 'drop-events', events }]);
}
