import type { DecisionContext } from '../../protocol/decide/deciding.js';
import type { Mutation } from '../../protocol/decide/mutations.js';
import { bodyOf, correlationId, type OutboxEvent } from '../../protocol/webhooks/outbox.js';
import type { Subscription } from '../../protocol/webhooks/subscription.js';
import type { Connection } from './connection.js';
import { Statements } from './statements.js';

const COLUMNS = [
  ...['id', 'url', 'events', 'secret_hash', 'namespace_filter', 'agent_filter', 'created_by', 'sees_all'],
  ...['created_at', 'last_dispatched_at', 'dispatch_count', 'failure_count', 'failures_in_row', 'status'],
  ...['pending_count', 'dlq_count', 'dropped_count', 'ended_count'],
] as const satisfies readonly (keyof Subscription)[];

/** Writes subscriptions, the outbox of their events and their dead letters. Local to this node. */
export class WebhookLedger {
  private readonly texts: Statements;

  constructor(db: Connection) {
    this.texts = new Statements(db);
  }

  addSubscription(subscription: Subscription): void {
    this.texts
      .get(
        `INSERT INTO subscriptions (${COLUMNS.join(', ')}) VALUES (${COLUMNS.map((c) => `@${c}`).join(', ')})`,
      )
      .run(boundOf(subscription));
    this.listChanged();
  }

  putSubscription(subscription: Subscription): void {
    this.texts
      .get(
        `UPDATE subscriptions SET last_dispatched_at = @last_dispatched_at, dispatch_count = @dispatch_count,
           failure_count = @failure_count, failures_in_row = @failures_in_row, status = @status,
           pending_count = @pending_count, dlq_count = @dlq_count, dropped_count = @dropped_count,
           ended_count = @ended_count
         WHERE id = @id`,
      )
      .run(boundOf(subscription));
  }

  dropSubscription(id: string): void {
    this.texts.get('DELETE FROM subscription_events WHERE subscription_id = ?').run(id);
    this.texts.get('DELETE FROM subscription_dlq WHERE subscription_id = ?').run(id);
    this.texts.get('DELETE FROM subscriptions WHERE id = ?').run(id);
    this.listChanged();
  }

  addEvent(
    { subscriptionId, event, refusal }: Extract<Mutation, { mutation: 'add-event' }>,
    { now, nowMs }: DecisionContext,
  ): void {
    const { last } = this.texts
      .get('SELECT coalesce(max(seq), 0) AS last FROM subscription_events')
      .get() as { last: number };
    const seq = last + 1;
    const correlation_id = correlationId(subscriptionId, seq, nowMs);
    const row: OutboxEvent = {
      seq,
      subscription_id: subscriptionId,
      correlation_id,
      event_type: event.event,
      payload: bodyOf(event, correlation_id, now),
      delivered_at: now,
      delivery_status: refusal === null ? 'pending' : 'failed',
      attempts: 0,
      next_attempt_ms: nowMs,
      last_error: refusal,
      first_failed_at: refusal === null ? null : now,
      replays: 0,
    };
    this.texts
      .get(
        `INSERT INTO subscription_events
           (seq, subscription_id, correlation_id, event_type, payload, delivered_at, delivery_status, attempts,
            next_attempt_ms, last_error, first_failed_at, replays)
         VALUES (@seq, @subscription_id, @correlation_id, @event_type, @payload, @delivered_at, @delivery_status,
           @attempts, @next_attempt_ms, @last_error, @first_failed_at, @replays)`,
      )
      .run(row);
    if (refusal !== null) this.addDeadLetter(row, now);
  }

  putEvent(event: OutboxEvent): void {
    this.texts
      .get(
        `UPDATE subscription_events SET delivery_status = @delivery_status, attempts = @attempts,
           next_attempt_ms = @next_attempt_ms, last_error = @last_error, first_failed_at = @first_failed_at,
           replays = @replays
         WHERE seq = @seq`,
      )
      .run(event);
  }

  addDeadLetter(event: OutboxEvent, lastFailedAt: string): void {
    this.texts
      .get(
        `INSERT INTO subscription_dlq
           (subscription_id, correlation_id, event_type, payload, retry_count, last_error, first_failed_at, last_failed_at)
         VALUES (@subscription_id, @correlation_id, @event_type, @payload, @attempts, @last_error, @first_failed_at,
           @lastFailedAt)`,
      )
      .run({ ...event, lastFailedAt });
  }

  dropDeadLetters(correlationIds: readonly string[]): void {
    this.texts
      .get('DELETE FROM subscription_dlq WHERE correlation_id IN (SELECT value FROM json_each(?))')
      .run(JSON.stringify(correlationIds));
  }

  dropEvents(events: readonly Pick<OutboxEvent, 'subscription_id' | 'seq'>[]): void {
    const drop = this.texts.get(
      'DELETE FROM subscription_events WHERE seq = ? RETURNING correlation_id, delivery_status',
    );
    const dropDeadLetter = this.texts.get('DELETE FROM subscription_dlq WHERE correlation_id = ?');
    const count = this.texts.get(
      `UPDATE subscriptions SET ended_count = ended_count - (1 - @waited), pending_count = pending_count - @waited,
         dropped_count = dropped_count + @waited, dlq_count = dlq_count - @dead WHERE id = @id`,
    );
    for (const { subscription_id: id, seq } of events) {
      const { correlation_id, delivery_status } = drop.get(seq) as OutboxEvent;
      // It could not be sent again.
      const dead = dropDeadLetter.run(correlation_id).changes;
      count.run({ id, dead, waited: delivery_status === 'pending' ? 1 : 0 });
    }
  }

  private listChanged(): void {
    this.texts.get('UPDATE subscription_changes SET revision = abs(random() % 9007199254740991)').run();
  }
}

const boundOf = (subscription: Subscription) => ({
  ...subscription,
  sees_all: subscription.sees_all ? 1 : 0,
});
