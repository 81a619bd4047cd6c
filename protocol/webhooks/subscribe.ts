import { SUBSCRIPTIONS_MAX, SUBSCRIPTIONS_PER_AGENT_MAX } from '../base/limits.js';
import { fail } from '../base/result.js';
import type { Viewer } from '../base/viewer.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { addSubscription, dropSubscription } from './mutations.js';
import { subscriptionById, subscriptionCounts } from './reads.js';

import { isOwn, type Subscription } from './subscription.js';

/** What the owner of a subscription says of it. */
export type NewSubscription = Pick<
  Subscription,
  'id' | 'url' | 'events' | 'secret_hash' | 'namespace_filter' | 'agent_filter' | 'created_by'
>;

/** Adds a subscription to events. */
export interface Subscribe {
  readonly kind: 'subscribe';
  readonly subscription: NewSubscription;
  readonly viewer: Viewer;
}

/** Removes a subscription with its outbox, its history and its dead letters. */
export interface Unsubscribe {
  readonly kind: 'unsubscribe';
  readonly id: string;
  readonly viewer: Viewer;
}

/** QUOTA_EXCEEDED where there are too many. */
export function* decideSubscribe(
  { subscription, viewer }: Subscribe,
  context: DecisionContext,
): Deciding<{ readonly subscription: Subscription }> {
  const { id, created_by: by } = subscription;
  // The call may be one that was sent before and not answered.
  const known = yield* subscriptionById({ id });
  if (known !== null) return decided({ subscription: known }, []);
  const { own, all, lastSeq } = yield* subscriptionCounts({ by });
  if (own >= SUBSCRIPTIONS_PER_AGENT_MAX || all >= SUBSCRIPTIONS_MAX) {
    const [current, max] =
      own >= SUBSCRIPTIONS_PER_AGENT_MAX ? [own, SUBSCRIPTIONS_PER_AGENT_MAX] : [all, SUBSCRIPTIONS_MAX];
    const message = `there are ${current} subscriptions of at most ${max}; remove one first`;
    return fail('QUOTA_EXCEEDED', message, { limit: 'subscriptions', current, max });
  }
  const made: Subscription = {
    ...subscription,
    sees_all: viewer.all,
    created_at: context.now,
    last_dispatched_at: null,
    dispatch_count: 0,
    failure_count: 0,
    failures_in_row: 0,
    status: 'active',
    pending_count: 0,
    dlq_count: 0,
    dropped_count: 0,
    ended_count: 0,
    passed_seq: lastSeq,
    since_seq: lastSeq,
  };
  return decided({ subscription: made }, [addSubscription({ subscription: made })]);
}

/** Removes nothing where there is no such subscription, or where it belongs to another agent. */
export function* decideUnsubscribe({ id, viewer }: Unsubscribe): Deciding<{ readonly removed: boolean }> {
  const known = yield* subscriptionById({ id });
  if (known === null || !isOwn(known, viewer)) return decided({ removed: false }, []);
  return decided({ removed: true }, [dropSubscription({ id })]);
}
