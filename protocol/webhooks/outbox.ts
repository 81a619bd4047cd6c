import type { Instant } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';
import { isWithheld } from '../base/withheld.js';
import { localKind } from '../kinds/local-kind.js';
import type { Audience } from './audience.js';
import type { Announcement, WebhookEvent } from './webhook-event.js';

/**
 * An event on its way to one subscription, and afterwards a part of its history. It has a row of its own once an attempt
 * has failed; before that, it follows from the recorded event.
 */
export interface OutboxEvent {
  /** The order in which the subscription gets its events. */
  readonly seq: number;
  readonly subscription_id: string;
  /** The same for every attempt, so that a receiver knows an event that it has had. */
  readonly correlation_id: string;
  readonly event_type: string;
  /** The body as it is sent. */
  readonly payload: string;
  /** When it happened; the body says so too. */
  readonly delivered_at: Instant;
  readonly delivery_status: 'pending' | 'ack' | 'failed';
  readonly attempts: number;
  /** Wall clock, in milliseconds. */
  readonly next_attempt_ms: number;
  readonly last_error: string | null;
  readonly first_failed_at: Instant | null;
  /** How often its owner had it sent again. */
  readonly replays: number;
}

export const outboxKind = localKind<OutboxEvent>({
  name: 'outbox-event',
  table: 'subscription_events',
  key: ['subscription_id', 'seq'],
  members: {
    ...{
      seq: 'integer',
      subscription_id: 'text',
      correlation_id: 'text',
      event_type: 'text',
      payload: 'text',
    },
    ...{ delivered_at: 'text', delivery_status: 'text', attempts: 'integer', next_attempt_ms: 'integer' },
    ...{ last_error: 'text?', first_failed_at: 'text?', replays: 'integer' },
  },
  indexes: [
    ['subscription_id', 'delivery_status', 'seq'],
    ['subscription_id', 'delivery_status', 'delivered_at'],
  ],
});

/** An event that was given up. */
export interface DeadLetter {
  /** The table gives it. */
  readonly id: number;
  readonly subscription_id: string;
  readonly correlation_id: string;
  readonly event_type: string;
  readonly payload: string;
  readonly retry_count: number;
  readonly last_error: string;
  readonly first_failed_at: Instant;
  readonly last_failed_at: Instant;
}

export const deadLetterKind = localKind<DeadLetter>({
  name: 'dead-letter',
  table: 'subscription_dlq',
  key: ['id'],
  numbered: true,
  members: {
    ...{
      id: 'integer',
      subscription_id: 'text',
      correlation_id: 'text',
      event_type: 'text',
      payload: 'text',
    },
    ...{ retry_count: 'integer', last_error: 'text', first_failed_at: 'text', last_failed_at: 'text' },
  },
  indexes: [['subscription_id', 'id'], ['correlation_id']],
});

/**
 * The id of an event of a subscription: a UUID of version 7. Its place in the outbox and the random part of the id of the
 * subscription make it unique.
 */
export function correlationId(subscriptionId: string, seq: number, nowMs: number): string {
  const time = Math.max(0, nowMs).toString(16).padStart(12, '0').slice(-12);
  const place = (seq % 2 ** 42).toString(16).padStart(11, '0');
  const random = subscriptionId
    .replaceAll(/[^0-9a-f]/g, '')
    .slice(-7)
    .padStart(7, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${place.slice(0, 3)}-8${random.slice(0, 3)}-${random.slice(3)}${place.slice(3)}`;
}

/** An event as its row holds it: once for all subscriptions, in the transaction of the change that it tells of. */
export interface AnnouncedRow {
  /** Its place; no place comes twice. */
  readonly seq: number;
  /** JSON. */
  readonly event: string;
  readonly audience: string;
  readonly at: Instant;
  readonly at_ms: number;
}

export const announcedKind = localKind<AnnouncedRow>({
  name: 'announced-event',
  table: 'announced_events',
  key: ['seq'],
  numbered: true,
  members: { seq: 'integer', event: 'text', audience: 'text', at: 'text', at_ms: 'integer' },
  indexes: [],
});

/** A recorded event of a row; it parses the audience when that is asked for. */
export function recordedEvent({ seq, event, audience, at, at_ms: atMs }: AnnouncedRow): RecordedEvent {
  let parsed: Audience | null = null;
  return {
    ...{ seq, event: JSON.parse(event) as WebhookEvent, at, atMs },
    get audience() {
      parsed ??= JSON.parse(audience) as Audience;
      return parsed;
    },
  };
}

/** An event as it was recorded, for all subscriptions. */
export interface RecordedEvent extends Announcement {
  readonly seq: number;
  readonly at: Instant;
  readonly atMs: number;
}

/** A recorded event for one subscription. */
export function outboxEvent(
  subscription_id: string,
  { seq, event, at, atMs }: RecordedEvent,
  delivery_status: 'pending' | 'ack',
): OutboxEvent {
  const correlation_id = correlationId(subscription_id, seq, atMs);
  return {
    seq,
    subscription_id,
    correlation_id,
    event_type: event.event,
    payload: bodyOf(event, correlation_id, at),
    delivered_at: at,
    delivery_status,
    attempts: delivery_status === 'ack' ? 1 : 0,
    next_attempt_ms: 0,
    last_error: null,
    first_failed_at: null,
    replays: 0,
  };
}

/** True for an event about a memory of a namespace that rules keep from a viewer. Who decides on an action hears of it. */
export function isOfWithheld(
  { event_type, payload }: Pick<OutboxEvent, 'event_type' | 'payload'>,
  withheld: Viewer['withheld'],
): boolean {
  if (withheld === undefined || event_type.startsWith('approval_')) return false;
  return isWithheld({ withheld }, String((JSON.parse(payload) as { namespace?: unknown }).namespace));
}

/** The body of an event (reference-http §5.4): flat, the same for every attempt. */
export function bodyOf(event: WebhookEvent, correlation_id: string, delivered_at: Instant): string {
  const { details, ...envelope } = event;
  return JSON.stringify({ ...envelope, delivered_at, correlation_id, ...details });
}
