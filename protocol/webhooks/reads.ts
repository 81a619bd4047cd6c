import type { AgentId, Instant } from '../base/meanings.js';
import { defineRead } from '../decide/reads.js';
import type { OutboxEvent } from './outbox.js';
import type { LostEvents } from './queries.js';
import type { Subscription } from './subscription.js';

/** True when anybody subscribes to events. */
export const isSubscribed = defineRead<void, boolean>('is-subscribed');
/** How many subscriptions an agent and all have, and the place of the last recorded event. */
export const subscriptionCounts = defineRead<
  { readonly by: AgentId },
  { readonly own: number; readonly all: number; readonly lastSeq: number }
>('subscription-counts');
/** Counts the changes of the list of subscriptions. */
export const subscriptionRevision = defineRead<void, number>('subscription-revision');
export const subscriptionById = defineRead<{ readonly id: string }, Subscription | null>('subscription');
export const outboxEventOf = defineRead<
  { readonly subscriptionId: string; readonly seq: number },
  OutboxEvent | null
>('outbox-event');
/** Failed events of a subscription that were sent again less often than a number, the oldest first. */
export const failedEvents = defineRead<
  {
    readonly subscriptionId: string;
    readonly since: Instant;
    readonly limit: number;
    readonly replaysBelow: number;
  },
  readonly OutboxEvent[]
>('failed-events');
/**
 * Ended events that are older than an instant, or more than a subscription's history keeps, and events older than that
 * which wait behind a quarantine.
 */
export const prunableEvents = defineRead<
  { readonly before: Instant; readonly limit: number },
  readonly Pick<OutboxEvent, 'subscription_id' | 'seq'>[]
>('prunable-events');
/** Recorded events that are too old, or too many, and what is lost with them. */
export const prunableAnnounced = defineRead<{ readonly before: Instant; readonly limit: number }, LostEvents>(
  'prunable-announced',
);
export const countDeadLetters = defineRead<{ readonly correlationIds: readonly string[] }, number>(
  'count-dead-letters',
);
