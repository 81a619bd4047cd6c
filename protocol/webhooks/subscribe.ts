import { SUBSCRIPTIONS_MAX, SUBSCRIPTIONS_PER_AGENT_MAX } from '../base/limits.js';
import { fail } from '../base/result.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { countLocalRows, dropRows, lastNumberOf, localRow, putRow } from '../decide/local-rows.js';
import { announcedKind, deadLetterKind, outboxKind } from './outbox.js';
import { isOwn, listChanged, type Subscription, subscriptionKind } from './subscription.js';

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
function* decideSubscribe(
  { subscription, viewer }: Subscribe,
  context: DecisionContext,
): Deciding<{ readonly subscription: Subscription }> {
  const { id, created_by: by } = subscription;
  // The call may be one that was sent before and not answered.
  const known = yield* localRow(subscriptionKind, { id });
  if (known !== null) return decided({ subscription: known }, []);
  const own = yield* countLocalRows(subscriptionKind, { created_by: by });
  const all = yield* countLocalRows(subscriptionKind);
  const lastSeq = yield* lastNumberOf({ of: announcedKind.name });
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
  return decided({ subscription: made }, [putRow(subscriptionKind, made), yield* listChanged()]);
}

/** Removes nothing where there is no such subscription, or where it belongs to another agent. */
function* decideUnsubscribe({ id, viewer }: Unsubscribe): Deciding<{ readonly removed: boolean }> {
  const known = yield* localRow(subscriptionKind, { id });
  if (known === null || !isOwn(known, viewer)) return decided({ removed: false }, []);
  return decided({ removed: true }, [
    dropRows(outboxKind, { subscription_id: id }),
    dropRows(deadLetterKind, { subscription_id: id }),
    dropRows(subscriptionKind, { id }),
    yield* listChanged(),
  ]);
}

export const subscribeCommand = defineCommand({
  kind: 'subscribe',
  decide: decideSubscribe,
  gate: 'no memory',
});

export const unsubscribeCommand = defineCommand({
  kind: 'unsubscribe',
  decide: decideUnsubscribe,
  gate: 'no memory',
});
