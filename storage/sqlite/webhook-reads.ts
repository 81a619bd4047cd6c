import { ANNOUNCED_EVENTS_MAX, SUBSCRIPTION_HISTORY_MAX } from '../../protocol/base/limits.js';
import type { AnswerTo, Asked } from '../../protocol/decide/reads.js';
import { type OutboxEvent, outboxEvent } from '../../protocol/webhooks/outbox.js';
import type { LostEvents } from '../../protocol/webhooks/queries.js';
import type { failedEvents, prunableEvents, subscriptionCounts } from '../../protocol/webhooks/reads.js';
import { hears, type Subscription } from '../../protocol/webhooks/subscription.js';
import { announcedAfter, announcedAt, lastAnnounced, subscriptionRevision } from './announced-events.js';
import type { Connection } from './connection.js';
import { registry } from './registered.js';
import { Statements } from './statements.js';

/** A row of the table; SQLite has no booleans. */
export type SubscriptionSqlRow = Omit<Subscription, 'sees_all'> & { readonly sees_all: number };

export const subscriptionFromSql = (row: SubscriptionSqlRow): Subscription => ({
  ...row,
  sees_all: row.sees_all === 1,
});

/** Later than every instant. */
const ALWAYS = '~';

/** What decisions read about webhooks. Every write asks only whether there is a subscription. */
export class WebhookReads {
  private readonly texts: Statements;
  private readonly isAny;

  constructor(db: Connection) {
    this.texts = new Statements(db);
    this.isAny = db.prepare<[], number>('SELECT EXISTS (SELECT 1 FROM subscriptions)').pluck();
  }

  isSubscribed(): boolean {
    return this.isAny.get() === 1;
  }

  counts(by: string): AnswerTo<typeof subscriptionCounts> {
    const counted = this.texts
      .get('SELECT count(*) AS "all", coalesce(sum(created_by = ?), 0) AS own FROM subscriptions')
      .get(by) as { readonly all: number; readonly own: number };
    return { ...counted, lastSeq: lastAnnounced(this.texts) };
  }

  revision(): number {
    return subscriptionRevision(this.texts);
  }

  subscription(id: string): Subscription | null {
    const row = this.texts.get('SELECT * FROM subscriptions WHERE id = ?').get(id);
    return row === undefined ? null : subscriptionFromSql(row as SubscriptionSqlRow);
  }

  event(subscriptionId: string, seq: number): OutboxEvent | null {
    const row = this.texts
      .get('SELECT * FROM subscription_events WHERE subscription_id = ? AND seq = ?')
      .get(subscriptionId, seq);
    if (row !== undefined) return row as OutboxEvent;
    const passed = this.subscription(subscriptionId)?.passed_seq ?? Number.POSITIVE_INFINITY;
    const recorded = seq > passed ? announcedAt(this.texts, seq) : null;
    return recorded === null ? null : outboxEvent(subscriptionId, recorded, 'pending');
  }

  failed(asked: Asked<typeof failedEvents>): readonly OutboxEvent[] {
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

  prunable(before: string, limit: number): AnswerTo<typeof prunableEvents> {
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

  /** Events older than an instant, as far as nobody waits for them, and those beyond the number that is kept. */
  prunableAnnounced(before: string, limit: number): LostEvents {
    const { texts } = this;
    const numberOf = (sql: string, ...given: (string | number)[]) =>
      (texts
        .get(sql)
        .pluck()
        .get(...given) as number | null | undefined) ?? null;
    const last = lastAnnounced(texts);
    const first = numberOf('SELECT min(seq) FROM announced_events') ?? 0;
    if (!this.isSubscribed()) {
      const floor = Math.min(last, first + limit - 1);
      return { old: 0, floor, lost: [], more: floor < last };
    }
    const young = numberOf('SELECT seq FROM announced_events WHERE at >= ? ORDER BY seq LIMIT 1', before);
    const old = young === null ? last : young - 1;
    const surplus =
      numberOf('SELECT seq FROM announced_events ORDER BY seq DESC LIMIT 1 OFFSET ?', ANNOUNCED_EVENTS_MAX) ??
      0;
    const lost = this.lost(old, surplus, limit);
    const floor = Math.min(Math.max(old, surplus), first + limit - 1);
    const passed = numberOf('SELECT min(passed_seq) FROM subscriptions')!;
    return { old, floor, lost: lost.each, more: !lost.isAll || (passed > floor && old > floor) };
  }

  /** What subscriptions that stay behind lose: quarantined ones all that is old, the others what is too much. */
  private lost(old: number, surplus: number, limit: number) {
    const behind = this.texts
      .get(
        "SELECT * FROM subscriptions WHERE passed_seq < iif(status = 'quarantined', max(@old, @surplus), @surplus)",
      )
      .all({ old, surplus }) as SubscriptionSqlRow[];
    const begins = behind.reduce((least, { passed_seq }) => Math.min(least, passed_seq), old);
    const events = [...announcedAfter(this.texts, begins, limit)];
    const isRegistered = registry(this.texts);
    const isAll = behind.length === 0 || events.length < limit;
    const each = behind.map((row) => {
      const { id, status, passed_seq } = row;
      const end = status === 'quarantined' ? Math.max(old, surplus) : surplus;
      const through = Math.max(passed_seq, isAll ? end : Math.min(end, events.at(-1)!.seq));
      const filter = subscriptionFromSql(row);
      const count = events.filter(
        (event) => event.seq > passed_seq && event.seq <= through && hears(filter, event, isRegistered),
      );
      return { id, through, count: count.length };
    });
    return { each, isAll };
  }
}
