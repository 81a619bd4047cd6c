import type { Ask } from '../base/ask.js';
import type { Instant } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';
import type { DeadLetter, OutboxEvent } from './outbox.js';
import type { Subscription } from './subscription.js';

/** Questions about webhooks. */
export interface WebhookQueries {
  readonly 'list-subscriptions': Ask<ListSubscriptions, { readonly subscriptions: readonly Subscription[] }>;
  readonly 'subscription-events': Ask<
    SubscriptionEvents,
    { readonly events: readonly OutboxEvent[] } & Ending
  >;
  readonly 'dead-letters': Ask<DeadLetters, { readonly entries: readonly DeadLetter[] } & Ending>;
  readonly 'count-dead-letters': Ask<CountDeadLetters, { readonly dead: number }>;
  readonly 'due-subscriptions': Ask<DueSubscriptions, DueIds>;
  readonly 'announced-since': Ask<AnnouncedSince, Announced>;
  readonly 'next-deliveries': Ask<NextDeliveries, NextEvents>;
  readonly 'webhook-totals': Ask<{ readonly kind: 'webhook-totals' }, WebhookTotals>;
}

/** True for a page that ended early because of its bytes. */
interface Ending {
  readonly truncated: boolean;
}

/** The subscriptions of an agent, or all of them for a caller that sees everything; the oldest first. */
export interface ListSubscriptions {
  readonly kind: 'list-subscriptions';
  readonly viewer: Viewer;
}

/** The events of a subscription since an instant, the oldest first; nothing for another than its owner. */
export interface SubscriptionEvents {
  readonly kind: 'subscription-events';
  readonly subscriptionId: string;
  readonly since: Instant;
  readonly limit: number;
  readonly viewer: Viewer;
}

/** Dead letters of a subscription, or of all of the caller's subscriptions, the newest first. */
export interface DeadLetters {
  readonly kind: 'dead-letters';
  readonly subscriptionId: string | null;
  readonly limit: number;
  readonly viewer: Viewer;
}

/** How many dead letters all of the caller's subscriptions have. */
export interface CountDeadLetters {
  readonly kind: 'count-dead-letters';
  readonly viewer: Viewer;
}

/**
 * Subscriptions whose next event may be sent now, without those that are being served: of each owner at most `ofOwner`,
 * the served ones included, and every owner's first before any owner's second. Which ones may have recorded events to
 * get is said by `waiting`; null asks about all that have not passed the last one.
 */
export interface DueSubscriptions {
  readonly kind: 'due-subscriptions';
  readonly nowMs: number;
  readonly limit: number;
  readonly ofOwner: number;
  readonly except: readonly string[];
  readonly waiting: readonly string[] | null;
}

export interface DueIds {
  readonly ids: readonly string[];
  /** The place of the last recorded event. */
  readonly lastSeq: number;
  /** Another one when subscriptions were added, removed or sent again. */
  readonly revision: number;
  /** True when the node has a subscription, due or not. */
  readonly any: boolean;
}

/** Which active subscriptions get one of the events after a place; null begins where the first one stands. */
export interface AnnouncedSince {
  readonly kind: 'announced-since';
  readonly after: number | null;
  readonly limit: number;
}

export interface Announced {
  /** The last event that was looked at. */
  readonly through: number;
  readonly ids: readonly string[];
}

/** The next events of a subscription in their order, as far as they may be sent now. */
export interface NextDeliveries {
  readonly kind: 'next-deliveries';
  readonly subscriptionId: string;
  readonly nowMs: number;
  readonly limit: number;
  /** What rules about reads keep from its owner. */
  readonly withheld?: Viewer['withheld'];
}

export interface NextEvents {
  /** As whom it hears. */
  readonly owner: Viewer;
  readonly deliveries: readonly Delivery[];
  /** Events that wait for a further attempt, and that rules now keep from the owner. */
  readonly withheld: readonly number[];
  /** Up to here it gets nothing but these; null where an event waits for a further attempt. */
  readonly through: number | null;
  /** True when no recorded event lies beyond. */
  readonly isEnd: boolean;
}

/** What the sender needs of an event and its subscription. */
export interface Delivery {
  readonly subscriptionId: string;
  readonly seq: number;
  readonly correlationId: string;
  readonly url: string;
  readonly body: string;
  /** Lower-case hex; null where the secret of the node signs. */
  readonly secretHash: string | null;
}

/** Over all subscriptions of the node. */
export interface WebhookTotals {
  readonly subscriptions: number;
  readonly quarantined: number;
  readonly pending: number;
  readonly dead: number;
  readonly dropped: number;
}
