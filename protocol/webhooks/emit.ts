import type { Command } from '../commands.js';
import type { Mutation } from '../decide/mutations.js';
import { type Reading, read } from '../decide/reads.js';
import { isRegistered } from '../governance/gate-policy.js';
import {
  SUBSCRIPTION_DEAD_LETTERS_MAX,
  SUBSCRIPTION_PENDING_MAX,
  WEBHOOK_BODY_BYTES_MAX,
} from '../limits.js';
import { instantFromMs } from '../time.js';
import { utf8Bytes } from '../utf8.js';
import { announcementsOf, canBeEvent } from './events.js';
import { bodyOf, correlationId } from './outbox.js';
import { hears, type Subscription } from './subscription.js';
import type { WebhookEvent } from './webhook-event.js';

const NONE: readonly Mutation[] = [];

/** Puts the events of a decision into the outbox of each subscription that gets them, in the same transaction. */
export function* emitEvents(command: Command, mutations: readonly Mutation[]): Reading<readonly Mutation[]> {
  if (!mutations.some(canBeEvent)) return NONE;
  const filters = yield* read('subscription-filters', {});
  if (filters.length === 0) return NONE;
  const all = yield* announcementsOf(command, mutations);
  const announced = all.map((each) => ({ ...each, event: bounded(each.event) }));
  const queued: Mutation[] = [];
  const areApprovals = announced.some(({ event }) => event.event.startsWith('approval_'));
  for (const filter of filters) {
    const registered = areApprovals && (yield* isRegistered(filter.created_by));
    const heard = announced.filter((each) => hears(filter, each, registered)).map(({ event }) => event);
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

/** The bytes of the body of an event, whatever its delivery adds. */
const bodyBytes = (event: WebhookEvent): number =>
  utf8Bytes(bodyOf(event, correlationId('', 0, 0), instantFromMs(0)));

/** The event with as much of its details as a body may hold: clients choose some of them. */
export function bounded(event: WebhookEvent): WebhookEvent {
  if (bodyBytes(event) <= WEBHOOK_BODY_BYTES_MAX) return event;
  const kept: Record<string, unknown> = { truncated: true };
  let room = WEBHOOK_BODY_BYTES_MAX - bodyBytes({ ...event, details: kept });
  const take = (name: string, value: unknown) => {
    const bytes = utf8Bytes(JSON.stringify({ [name]: value })) - 1;
    if (bytes > room) return;
    room -= bytes;
    kept[name] = value;
  };
  const details = Object.entries(event.details).filter(([, value]) => value !== undefined);
  for (const [name, value] of details) if (!Array.isArray(value)) take(name, value);
  for (const [name, value] of details)
    if (Array.isArray(value)) take(name, beginningOf(value, room - utf8Bytes(name) - 6));
  return { ...event, details: kept };
}

/** The items of a list from its beginning that fit. */
function beginningOf(list: readonly unknown[], bytesMax: number): readonly unknown[] {
  let bytes = 0;
  const end = list.findIndex((item) => {
    bytes += utf8Bytes(JSON.stringify(item)) + 1;
    return bytes > bytesMax;
  });
  return end === -1 ? list : list.slice(0, end);
}
