import type { Command } from '../commands.js';
import type { Mutation } from '../decide/mutations.js';
import { type Reading, read } from '../decide/reads.js';
import { SUBSCRIPTION_DEAD_LETTERS_MAX, SUBSCRIPTION_PENDING_MAX } from '../limits.js';
import { announcementsOf, canBeEvent } from './events.js';
import { hears, type Subscription } from './subscription.js';
import type { WebhookEvent } from './webhook-event.js';

const NONE: readonly Mutation[] = [];

/** Puts the events of a decision into the outbox of each subscription that gets them, in the same transaction. */
export function* emitEvents(command: Command, mutations: readonly Mutation[]): Reading<readonly Mutation[]> {
  if (!mutations.some(canBeEvent)) return NONE;
  const filters = yield* read('subscription-filters', {});
  if (filters.length === 0) return NONE;
  const announced = yield* announcementsOf(command, mutations);
  const queued: Mutation[] = [];
  for (const filter of filters) {
    const heard = announced.filter((each) => hears(filter, each)).map(({ event }) => event);
    if (heard.length === 0) continue;
    const subscription = yield* read('subscription', { id: filter.id });
    if (subscription !== null) queued.push(...enqueue(subscription, heard));
  }
  return queued;
}

/** The outbox rows of events, or dead letters where the subscription takes no more. */
function enqueue(subscription: Subscription, events: readonly WebhookEvent[]): Mutation[] {
  const { id: subscriptionId, status } = subscription;
  const mutations: Mutation[] = [];
  let { pending_count, dlq_count, dropped_count, ended_count, failure_count } = subscription;
  for (const event of events) {
    const refusal = refusalOf(status, pending_count);
    if (refusal === null) pending_count += 1;
    else failure_count += 1;
    const isDropped = refusal !== null && dlq_count >= SUBSCRIPTION_DEAD_LETTERS_MAX;
    if (isDropped) dropped_count += 1;
    else {
      if (refusal !== null) {
        dlq_count += 1;
        ended_count += 1;
      }
      mutations.push({ mutation: 'add-event', subscriptionId, event, refusal });
    }
  }
  const counted = { ...subscription, pending_count, dlq_count, dropped_count, ended_count, failure_count };
  return [...mutations, { mutation: 'put-subscription', subscription: counted }];
}

/** Why an event is a dead letter from the start; null for one that waits for its delivery. */
function refusalOf(status: Subscription['status'], pending: number): string | null {
  if (status === 'quarantined') return 'quarantined';
  return pending >= SUBSCRIPTION_PENDING_MAX ? 'outbox-full' : null;
}
