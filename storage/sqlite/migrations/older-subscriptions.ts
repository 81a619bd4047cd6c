import { ALL_EVENTS } from '../../../protocol/webhooks/event-types.js';
import { type Subscription, subscriptionKind } from '../../../protocol/webhooks/subscription.js';
import { LocalTables } from '../../sql/kinds/local-tables.js';
import type { SqliteConnection } from '../sqlite-connection.js';
import { olderInstant } from './older-values.js';
import { asideName, dropAside } from './tables.js';

/** Owns subscriptions that named no owner: no caller can claim this id, so only the operator sees and removes them. */
const NO_OWNER = 'ai:migrate';

interface OlderSubscription {
  readonly id: string;
  readonly url: string;
  readonly events: string;
  readonly secret_hash: string | null;
  readonly namespace_filter: string | null;
  readonly agent_filter: string | null;
  readonly created_by: string | null;
  readonly created_at: string;
  readonly last_dispatched_at: string | null;
  readonly dispatch_count: number;
  readonly failure_count: number;
  /** A JSON list, which counted instead of `events`. */
  readonly event_types: string | null;
}

/**
 * Drops the events and dead letters of an older release, which this one cannot send: they do not fit the outbox, and the
 * counts of their subscriptions do not hold them.
 */
export function dropOlderEvents(db: SqliteConnection): void {
  for (const table of ['subscription_dlq', 'subscription_events']) db.exec(`DROP TABLE IF EXISTS ${table}`);
}

/** Moves the subscriptions of an older schema, whose table was set aside. */
export function moveSubscriptions(db: SqliteConnection, now: string): void {
  const tables = new LocalTables(db);
  const rows = db.prepare(`SELECT * FROM "${asideName('subscriptions')}"`).all() as OlderSubscription[];
  for (const { event_types, ...row } of rows) {
    const named = event_types === null ? null : listOf(event_types);
    const moved: Subscription = {
      ...row,
      events: eventsOf(named ?? row.events.split(',')),
      // An empty filter of older releases meant none.
      namespace_filter: row.namespace_filter === '' ? null : row.namespace_filter,
      agent_filter: row.agent_filter === '' ? null : row.agent_filter,
      created_by: row.created_by ?? NO_OWNER,
      created_at: olderInstant(row.created_at) ?? now,
      last_dispatched_at: row.last_dispatched_at === null ? null : olderInstant(row.last_dispatched_at),
      sees_all: false,
      failures_in_row: 0,
      status: 'active',
      pending_count: 0,
      dlq_count: 0,
      dropped_count: 0,
      ended_count: 0,
      passed_seq: 0,
      since_seq: 0,
    };
    tables.put(subscriptionKind.name, moved);
  }
  dropAside(db, 'subscriptions');
}

/** Older releases took every name; unknown ones stay, and match no event. */
function eventsOf(names: readonly string[]): string {
  const trimmed = names.map((name) => name.trim()).filter((name) => name !== '');
  return trimmed.includes(ALL_EVENTS) ? ALL_EVENTS : trimmed.join(',');
}

function listOf(text: string): readonly string[] | null {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.every((name) => typeof name === 'string') ? list : null;
  } catch {
    return null;
  }
}
