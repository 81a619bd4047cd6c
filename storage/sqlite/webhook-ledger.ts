import type { DecisionContext } from '../../protocol/decide/deciding.js';
import type { OutboxEvent } from '../../protocol/webhooks/outbox.js';
import type { LostEvents } from '../../protocol/webhooks/queries.js';
import type { Subscription } from '../../protocol/webhooks/subscription.js';
import type { Announcement } from '../../protocol/webhooks/webhook-event.js';
import type { Connection } from './connection.js';
import { Statements } from './statements.js';

const COLUMNS = [
  ...['id', 'url', 'events', 'secret_hash', 'namespace_filter', 'agent_filter', 'created_by', 'sees_all'],
  ...['created_at', 'last_dispatched_at', 'dispatch_count', 'failure_count', 'failures_in_row', 'status'],
  ...['pending_count', 'dlq_count', 'dropped_count', 'ended_count', 'passed_seq', 'since_seq'],
] as const satisfies readonly (keyof Subscription)[];

/** Writes events, subscriptions, what became of events there, and dead letters. Local to this node. */
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
    const { id, status } = subscription;
    this.texts
      .get(
        `UPDATE subscription_changes SET revision = revision + 1
         WHERE EXISTS (SELECT 1 FROM subscriptions WHERE id = ? AND status <> ?)`,
      )
      .run(id, status);
    this.texts
      .get(
        `UPDATE subscriptions SET last_dispatched_at = @last_dispatched_at, dispatch_count = @dispatch_count,
           failure_count = @failure_count, failures_in_row = @failures_in_row, status = @status,
           pending_count = @pending_count, dlq_count = @dlq_count, dropped_count = @dropped_count,
           ended_count = @ended_count, passed_seq = @passed_seq
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

  announce({ event, audience }: Announcement, { now, nowMs }: DecisionContext): void {
    this.texts
      .get('INSERT INTO announced_events (event, audience, at, at_ms) VALUES (?, ?, ?, ?)')
      .run(JSON.stringify(event), JSON.stringify(audience), now, nowMs);
  }

  passEvents(through: number, except: readonly string[]): void {
    this.texts
      .get(
        `UPDATE subscriptions SET passed_seq = @through WHERE status = 'active' AND passed_seq < @through
           AND id NOT IN (SELECT value FROM json_each(@except))`,
      )
      .run({ through, except: JSON.stringify(except) });
  }

  dropAnnounced({ old, floor, lost }: LostEvents): void {
    const lose = this.texts.get(
      `UPDATE subscriptions SET passed_seq = max(passed_seq, @through), since_seq = max(since_seq, @through),
         dropped_count = dropped_count + @count WHERE id = @id`,
    );
    for (const each of lost) lose.run(each);
    this.texts
      .get(
        'UPDATE subscriptions SET since_seq = min(passed_seq, @old) WHERE since_seq < min(passed_seq, @old)',
      )
      .run({ old });
    this.texts
      .get(
        `DELETE FROM announced_events
         WHERE seq <= min(@floor, coalesce((SELECT min(passed_seq) FROM subscriptions), @floor))`,
      )
      .run({ floor });
  }

  putEvent(event: OutboxEvent): void {
    this.texts
      .get(
        `INSERT INTO subscription_events
           (seq, subscription_id, correlation_id, event_type, payload, delivered_at, delivery_status, attempts,
            next_attempt_ms, last_error, first_failed_at, replays)
         VALUES (@seq, @subscription_id, @correlation_id, @event_type, @payload, @delivered_at, @delivery_status,
           @attempts, @next_attempt_ms, @last_error, @first_failed_at, @replays)
         ON CONFLICT (subscription_id, seq) DO UPDATE SET delivery_status = excluded.delivery_status,
           attempts = excluded.attempts, next_attempt_ms = excluded.next_attempt_ms, last_error = excluded.last_error,
           first_failed_at = excluded.first_failed_at, replays = excluded.replays`,
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
      'DELETE FROM subscription_events WHERE subscription_id = ? AND seq = ? RETURNING correlation_id, delivery_status',
    );
    const dropDeadLetter = this.texts.get('DELETE FROM subscription_dlq WHERE correlation_id = ?');
    const count = this.texts.get(
      `UPDATE subscriptions SET ended_count = ended_count - (1 - @waited), pending_count = pending_count - @waited,
         dropped_count = dropped_count + @waited, dlq_count = dlq_count - @dead,
         since_seq = max(since_seq, @seq) WHERE id = @id`,
    );
    for (const { subscription_id: id, seq } of events) {
      const { correlation_id, delivery_status } = drop.get(id, seq) as OutboxEvent;
      // It could not be sent again.
      const dead = dropDeadLetter.run(correlation_id).changes;
      count.run({ id, seq, dead, waited: delivery_status === 'pending' ? 1 : 0 });
    }
  }

  private listChanged(): void {
    this.texts.get('UPDATE subscription_changes SET revision = revision + 1').run();
  }
}

const boundOf = (subscription: Subscription) => ({
  ...subscription,
  sees_all: subscription.sees_all ? 1 : 0,
});
