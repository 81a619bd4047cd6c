import type { Reads } from '../../protocol/decide/reads.js';
import { SUBSCRIPTION_HISTORY_MAX } from '../../protocol/limits.js';
import type { OutboxEvent } from '../../protocol/webhooks/outbox.js';
import type { Filter, Subscription } from '../../protocol/webhooks/subscription.js';
import type { Connection } from './connection.js';
import { Statements } from './statements.js';

/** A row of the table; SQLite has no booleans. */
export type SubscriptionSqlRow = Omit<Subscription, 'sees_all'> & { readonly sees_all: number };

export const subscriptionFromSql = (row: SubscriptionSqlRow): Subscription => ({
  ...row,
  sees_all: row.sees_all === 1,
});

/** Later than every instant. */
const ALWAYS = '~';

/**
 * What decisions read about webhooks. Every write asks which subscriptions there are, so their filters are kept in memory
 * and read again when their revision changes, which any process on the database may cause.
 */
export class WebhookReads {
  private readonly texts: Statements;
  private readonly revisionNow;
  private kept: { readonly revision: number; readonly filters: readonly Filter[] } | null = null;

  constructor(db: Connection) {
    this.texts = new Statements(db);
    this.revisionNow = db.prepare<[], number>('SELECT revision FROM subscription_changes').pluck();
  }

  filters(): readonly Filter[] {
    const revision = this.revisionNow.get() as number;
    if (this.kept?.revision !== revision) {
      const rows = this.texts.get('SELECT * FROM subscriptions ORDER BY created_at, id').all();
      this.kept = { revision, filters: (rows as SubscriptionSqlRow[]).map(subscriptionFromSql) };
    }
    return this.kept.filters;
  }

  subscription(id: string): Subscription | null {
    const row = this.texts.get('SELECT * FROM subscriptions WHERE id = ?').get(id);
    return row === undefined ? null : subscriptionFromSql(row as SubscriptionSqlRow);
  }

  event(seq: number): OutboxEvent | null {
    const row = this.texts.get('SELECT * FROM subscription_events WHERE seq = ?').get(seq);
    return (row as OutboxEvent | undefined) ?? null;
  }

  failed(asked: Reads['failed-events']['request']): readonly OutboxEvent[] {
    return this.texts
      .get(
        `SELECT * FROM subscription_events WHERE subscription_id = @subscriptionId AND delivery_status = 'failed'
           AND delivered_at >= @since AND replays < @replaysBelow ORDER BY seq LIMIT @limit`,
      )
      .all(asked) as OutboxEvent[];
  }

  countDeadLetters(correlationIds: readonly string[]): number {
    return this.texts
      .get('SELECT count(*) FROM subscription_dlq WHERE correlation_id IN (SELECT value FROM json_each(?))')
      .pluck()
      .get(JSON.stringify(correlationIds)) as number;
  }

  prunable(before: string, limit: number): Reads['prunable-events']['answer'] {
    const found: Pick<OutboxEvent, 'subscription_id' | 'seq'>[] = [];
    const all = this.texts.get('SELECT id, status, pending_count, ended_count FROM subscriptions');
    const old = this.texts.get(
      `SELECT subscription_id, seq FROM subscription_events
       WHERE subscription_id = ? AND delivery_status <> 'pending' AND delivered_at < ?
       ORDER BY delivered_at LIMIT ?`,
    );
    // The order of their places, because no index has the waiting ones by their age.
    const held = this.texts.get(
      `SELECT subscription_id, seq FROM (
         SELECT subscription_id, seq, delivered_at FROM subscription_events
         WHERE subscription_id = ? AND delivery_status = 'pending' ORDER BY seq LIMIT ?)
       WHERE delivered_at < ?`,
    );
    for (const { id, status, pending_count, ended_count } of all.all() as SubscriptionSqlRow[]) {
      const room = () => limit - found.length;
      const surplus = Math.min(room(), ended_count - SUBSCRIPTION_HISTORY_MAX);
      if (ended_count > 0) {
        const rows = surplus > 0 ? old.all(id, ALWAYS, surplus) : old.all(id, before, room());
        found.push(...(rows as typeof found));
      }
      if (status === 'quarantined' && pending_count > 0)
        found.push(...(held.all(id, room(), before) as typeof found));
      if (room() <= 0) break;
    }
    return found;
  }
}
