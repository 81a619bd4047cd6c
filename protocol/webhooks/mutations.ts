import { defineMutation } from '../decide/mutations.js';
import type { OutboxEvent } from './outbox.js';
import type { LostEvents } from './queries.js';
import type { Subscription } from './subscription.js';
import type { Announcement } from './webhook-event.js';

export const addSubscription = defineMutation<{ readonly subscription: Subscription }>('add-subscription');
/** Stores the counts and the status of a subscription. */
export const putSubscription = defineMutation<{ readonly subscription: Subscription }>('put-subscription');
/** Removes a subscription with its events and dead letters. */
export const dropSubscription = defineMutation<{ readonly id: string }>('drop-subscription');
/** Records an event for all subscriptions. The engine gives it its place. */
export const announceEvent = defineMutation<{ readonly announced: Announcement }>('announce-event');
/** Notes that subscriptions have nothing to get up to a place, except some. */
export const passEvents = defineMutation<{ readonly through: number; readonly except: readonly string[] }>(
  'pass-events',
);
/** Drops recorded events up to a place that no subscription needs, and what subscriptions lose. */
export const dropAnnounced = defineMutation<LostEvents>('drop-announced');
/** Stores the state of the delivery of an event, in a row of its own. */
export const putEvent = defineMutation<{ readonly event: OutboxEvent }>('put-event');
export const addDeadLetter = defineMutation<{ readonly event: OutboxEvent; readonly lastFailedAt: string }>(
  'add-dead-letter',
);
export const dropDeadLetters = defineMutation<{ readonly correlationIds: readonly string[] }>(
  'drop-dead-letters',
);
/** Removes events, with their dead letters; those that waited count as dropped. */
export const dropEvents = defineMutation<{
  readonly events: readonly Pick<OutboxEvent, 'subscription_id' | 'seq'>[];
}>('drop-events');
