import type { Audience } from '../../protocol/webhooks/audience.js';
import type { RecordedEvent } from '../../protocol/webhooks/outbox.js';
import type { WebhookEvent } from '../../protocol/webhooks/webhook-event.js';
import type { Statements } from './statements.js';

interface AnnouncedSqlRow {
  readonly seq: number;
  readonly event: string;
  readonly audience: string;
  readonly at: string;
  readonly at_ms: number;
}

/** Parses what is asked for, once. */
class SqlEvent implements RecordedEvent {
  #audience: Audience | null = null;
  readonly event: WebhookEvent;

  constructor(private readonly row: AnnouncedSqlRow) {
    this.event = JSON.parse(row.event) as WebhookEvent;
  }

  get seq(): number {
    return this.row.seq;
  }

  get at(): string {
    return this.row.at;
  }

  get atMs(): number {
    return this.row.at_ms;
  }

  get audience(): Audience {
    this.#audience ??= JSON.parse(this.row.audience) as Audience;
    return this.#audience;
  }
}

/** The place of the last event that was ever recorded, also when it is gone. */
export const lastAnnounced = (texts: Statements): number =>
  (texts.get("SELECT seq FROM sqlite_sequence WHERE name = 'announced_events'").pluck().get() as
    | number
    | undefined) ?? 0;

/** Another number after each change of the list of subscriptions. */
export const subscriptionRevision = (texts: Statements): number =>
  texts.get('SELECT revision FROM subscription_changes').pluck().get() as number;

export function announcedAt(texts: Statements, seq: number): RecordedEvent | null {
  const row = texts.get('SELECT * FROM announced_events WHERE seq = ?').get(seq);
  return row === undefined ? null : new SqlEvent(row as AnnouncedSqlRow);
}

/** The recorded events after a place, and since an instant, in their order. */
export function* announcedAfter(
  texts: Statements,
  after: number,
  limit: number,
  since = '',
): Generator<RecordedEvent> {
  const rows = texts
    .get('SELECT * FROM announced_events WHERE seq > ? AND at >= ? ORDER BY seq LIMIT ?')
    .iterate(after, since, limit) as Iterable<AnnouncedSqlRow>;
  for (const row of rows) yield new SqlEvent(row);
}
