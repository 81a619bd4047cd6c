import {
  SUBSCRIPTION_DEAD_LETTERS_MAX,
  WEBHOOK_FAILURES_IN_ROW_MAX,
  WEBHOOK_REPLAYS_MAX,
  WEBHOOK_RETRY_MS,
} from '../base/limits.js';
import type { Instant } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import {
  addRow,
  changeRows,
  countLocalRows,
  dropRows,
  localRow,
  localRows,
  putRow,
} from '../decide/local-rows.js';
import type { Mutation } from '../decide/mutations.js';
import type { Reading } from '../decide/reads.js';
import {
  announcedKind,
  type DeadLetter,
  deadLetterKind,
  type OutboxEvent,
  outboxEvent,
  outboxKind,
  recordedEvent,
} from './outbox.js';
import {
  isOwn,
  listChanged,
  type Subscription,
  subscriptionKind,
  subscriptionRevision,
} from './subscription.js';

/** Records how attempts to deliver events of a subscription ended: acknowledged ones, then at most one that failed. */
export interface RecordDeliveries {
  readonly kind: 'record-deliveries';
  readonly subscriptionId: string;
  readonly acknowledged: readonly number[];
  readonly failed: { readonly seq: number; readonly error: string } | null;
  /** When given: the subscription gets none of the recorded events up to here. */
  readonly through?: number;
}

/** What became of an event; `gone` for one whose subscription was removed meanwhile. */
export type DeliveryOutcome = 'ack' | 'retry' | 'dead' | 'dropped' | 'gone';

export interface RecordDeliveriesOutcome {
  /** In the order of the command. */
  readonly became: readonly DeliveryOutcome[];
  /** True when the failure quarantined the subscription. */
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

/** Notes that nothing up to a place waits for any active subscription, except some; unless the list has changed. */
export interface PassEvents {
  readonly kind: 'pass-events';
  readonly through: number;
  readonly except: readonly string[];
  readonly revision: number;
}

/** Counts the attempts. The one after the last wait that fails makes its event a dead letter. */
function* decideRecordDeliveries(
  { subscriptionId, acknowledged, failed, through = 0 }: RecordDeliveries,
  { now, nowMs }: DecisionContext,
): Deciding<RecordDeliveriesOutcome> {
  const subscription = yield* localRow(subscriptionKind, { id: subscriptionId });
  const ended = new Ended(subscription, now);
  for (const seq of acknowledged) ended.acknowledged(yield* waitingEvent(subscriptionId, seq));
  if (failed !== null) ended.failed(yield* waitingEvent(subscriptionId, failed.seq), failed.error, nowMs);
  const [value, mutations] = ended.decision(through);
  return decided(value, value.quarantined ? [...mutations, yield* listChanged()] : mutations);
}

function* waitingEvent(subscriptionId: string, seq: number): Reading<OutboxEvent | null> {
  const row = yield* localRow(outboxKind, { subscription_id: subscriptionId, seq });
  if (row !== null) return row.delivery_status === 'pending' ? row : null;
  const subscription = yield* localRow(subscriptionKind, { id: subscriptionId });
  if (subscription === null || seq <= subscription.passed_seq) return null;
  const recorded = yield* localRow(announcedKind, { seq });
  return recorded === null ? null : outboxEvent(subscriptionId, recordedEvent(recorded), 'pending');
}

/** What the ends of attempts change in a subscription and its events. */
class Ended {
  private readonly became: DeliveryOutcome[] = [];
  private readonly mutations: Mutation[] = [];
  private quarantined = false;
  private isChanged = false;

  constructor(
    private subscription: Subscription | null,
    private readonly now: Instant,
  ) {}

  acknowledged(event: OutboxEvent | null): void {
    const hasRow = event !== null && this.hasRow(event);
    const counted = this.count(event, { failures_in_row: 0 });
    this.became.push(counted === null ? 'gone' : 'ack');
    // One that was acknowledged at once follows from the recorded event.
    if (counted !== null && hasRow) this.put({ ...counted, delivery_status: 'ack', last_error: null });
  }

  failed(event: OutboxEvent | null, error: string, nowMs: number): void {
    if (event === null || this.subscription === null) {
      this.became.push('gone');
      return;
    }
    const tried = { ...event, last_error: error, first_failed_at: event.first_failed_at ?? this.now };
    const wait = WEBHOOK_RETRY_MS[event.attempts];
    if (wait === undefined) {
      this.giveUp(tried, this.subscription);
      return;
    }
    this.became.push('retry');
    if (!this.hasRow(event)) {
      const { pending_count } = this.subscription;
      this.change({ pending_count: pending_count + 1, passed_seq: event.seq });
    }
    this.put({ ...tried, attempts: event.attempts + 1, next_attempt_ms: nowMs + wait });
  }

  decision(through: number): [RecordDeliveriesOutcome, readonly Mutation[]] {
    const { became, quarantined, mutations } = this;
    if (this.subscription !== null && through > this.subscription.passed_seq)
      this.change({ passed_seq: through });
    if (this.isChanged && this.subscription !== null)
      mutations.push(putRow(subscriptionKind, this.subscription));
    return [{ became, quarantined }, mutations];
  }

  /** False for an event that the subscription gets from those that were recorded for all. */
  private hasRow({ seq }: OutboxEvent): boolean {
    return this.subscription === null || seq <= this.subscription.passed_seq;
  }

  private change(changed: Partial<Subscription>): void {
    if (this.subscription === null) return;
    this.subscription = { ...this.subscription, ...changed };
    this.isChanged = true;
  }

  private giveUp(event: OutboxEvent, subscription: Subscription): void {
    const failuresInRow = subscription.failures_in_row + 1;
    this.quarantined = failuresInRow >= WEBHOOK_FAILURES_IN_ROW_MAX;
    const hasRoom = subscription.dlq_count < SUBSCRIPTION_DEAD_LETTERS_MAX;
    const counted = this.count(event, {
      failure_count: subscription.failure_count + 1,
      failures_in_row: failuresInRow,
      status: this.quarantined ? 'quarantined' : subscription.status,
      dlq_count: subscription.dlq_count + (hasRoom ? 1 : 0),
      dropped_count: subscription.dropped_count + (hasRoom ? 0 : 1),
    })!;
    this.became.push(hasRoom ? 'dead' : 'dropped');
    this.put({ ...counted, delivery_status: 'failed' });
    if (hasRoom) this.mutations.push(addRow(deadLetterKind, 'id', deadLetterOf(counted, this.now)));
  }

  /** The event after one more attempt, its last; null for one that waits no longer. */
  private count(event: OutboxEvent | null, changed: Partial<Subscription>): OutboxEvent | null {
    if (event === null || this.subscription === null) return null;
    const { dispatch_count, pending_count, ended_count } = this.subscription;
    this.change({
      ...{ last_dispatched_at: this.now, dispatch_count: dispatch_count + 1 },
      ...(this.hasRow(event)
        ? { pending_count: pending_count - 1, ended_count: ended_count + 1 }
        : { passed_seq: event.seq }),
      ...changed,
    });
    return { ...event, attempts: event.attempts + 1 };
  }

  private put(event: OutboxEvent): void {
    this.mutations.push(putRow(outboxKind, event));
  }
}

/**
 * Does nothing where there is no such subscription, or where it belongs to another agent. Events that were sent again too
 * often stay as they are.
 */
function* decideResendEvents(
  { subscriptionId, since, limit, viewer }: ResendEvents,
  { nowMs }: DecisionContext,
): Deciding<ResendEventsOutcome> {
  const subscription = yield* localRow(subscriptionKind, { id: subscriptionId });
  if (subscription === null || !isOwn(subscription, viewer)) return decided({ resent: 0 }, []);
  const failed = { subscription_id: subscriptionId, delivery_status: 'failed' };
  const where = { ...failed, delivered_at: { from: since }, replays: { before: WEBHOOK_REPLAYS_MAX } };
  const again = yield* localRows(outboxKind, { where, order: { by: 'seq' }, limit });
  const dead = { correlation_id: { in: again.map(({ correlation_id }) => correlation_id) } };
  const removed = yield* countLocalRows(deadLetterKind, dead);
  const counted: Subscription = {
    ...subscription,
    status: 'active',
    failures_in_row: 0,
    pending_count: subscription.pending_count + again.length,
    ended_count: subscription.ended_count - again.length,
    dlq_count: subscription.dlq_count - removed,
  };
  return decided({ resent: again.length }, [
    ...again.map((event) => {
      const replays = event.replays + 1;
      const first = { delivery_status: 'pending', attempts: 0, next_attempt_ms: nowMs, replays } as const;
      return putRow(outboxKind, { ...event, ...first });
    }),
    dropRows(deadLetterKind, dead),
    putRow(subscriptionKind, counted),
    ...(subscription.status === 'active' ? [] : [yield* listChanged()]),
  ]);
}

function* decidePassEvents({ through, except, revision }: PassEvents): Deciding<object> {
  if ((yield* subscriptionRevision()) !== revision) return decided({}, []);
  const where = { status: 'active', passed_seq: { before: through }, id: { notIn: except } };
  return decided({}, [changeRows(subscriptionKind, where, { passed_seq: through })]);
}

/** An event that was given up, as its owner finds it. */
const deadLetterOf = (event: OutboxEvent, last_failed_at: Instant): Omit<DeadLetter, 'id'> => ({
  subscription_id: event.subscription_id,
  correlation_id: event.correlation_id,
  event_type: event.event_type,
  payload: event.payload,
  retry_count: event.attempts,
  last_error: event.last_error ?? '',
  first_failed_at: event.first_failed_at ?? last_failed_at,
  last_failed_at,
});

export const recordDeliveriesCommand = defineCommand({
  kind: 'record-deliveries',
  decide: decideRecordDeliveries,
  gate: 'upkeep',
});

export const resendEventsCommand = defineCommand({
  kind: 'resend-events',
  decide: decideResendEvents,
  gate: 'no memory',
});

export const passEventsCommand = defineCommand({
  kind: 'pass-events',
  decide: decidePassEvents,
  gate: 'upkeep',
});
