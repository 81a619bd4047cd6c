import { addresseeOf, ownerOf } from '../../../protocol/identity/owner.js';
import type {
  InboxEvents,
  InboxMessage,
  ListInbox,
  SpentReceipts,
  UnreadMessages,
} from '../../../protocol/messages/queries.js';
import { inboxOf, MESSAGES_ROOT } from '../../../protocol/namespaces/mail.js';
import type { Answers } from '../../../protocol/release.js';
import { memberSql } from '../kinds/record-table.js';
import { readPage } from '../read-page.js';
import { memoryFromSql, SELECT_ROW, type SqlRow } from '../rows.js';
import type { QueryParts } from './query-parts.js';

/** The receipt of a message; one of another reader does not count. */
const RECEIPT = `FROM records WHERE kind = 'receipt' AND id = m.id AND owner_id = m.addressee_id`;
const READ_AT = `(SELECT ${memberSql('read_at')} ${RECEIPT})`;
const ALIVE = '(m.expires_at IS NULL OR m.expires_at > @now)';
/** The rows of an inbox. */
const INBOX = `memories m WHERE m.addressee_id = @agentId AND m.namespace = @namespace AND ${ALIVE}`;
const UNREAD = `AND NOT EXISTS (SELECT 1 ${RECEIPT})`;
const NEWEST_FIRST = 'ORDER BY m.created_at DESC, m.created_hlc DESC, m.id DESC';

export function listInbox({ statements }: QueryParts, query: ListInbox): Answers['list-inbox'] {
  const { agentId, unreadOnly, limit, now } = query;
  const cursor = statements
    .get(
      `SELECT ${SELECT_ROW}, ${READ_AT} AS read_at FROM ${INBOX} ${unreadOnly ? UNREAD : ''} ${NEWEST_FIRST} LIMIT @limit`,
    )
    .iterate({ namespace: inboxOf(agentId), agentId, now, limit }) as Iterable<SqlRow>;
  const readAt = new Map<unknown, unknown>();
  const { rows, truncated, damaged } = readPage(noting(cursor, readAt));
  return {
    messages: rows.map((row) => messageOf(row, readAt.get(row.id))),
    truncated,
    ...(damaged === undefined ? {} : { damaged }),
  };
}

export function unreadMessages(
  { statements }: QueryParts,
  { agentId, limit, now }: UnreadMessages,
): Answers['unread-messages'] {
  const ids = statements
    .get(`SELECT m.id FROM ${INBOX} ${UNREAD} ${NEWEST_FIRST} LIMIT @limit`)
    .pluck()
    .all({ namespace: inboxOf(agentId), agentId, now, limit }) as string[];
  return { ids };
}

function* noting(cursor: Iterable<SqlRow>, readAt: Map<unknown, unknown>): Iterable<SqlRow> {
  for (const row of cursor) {
    readAt.set(row['id'], row['read_at']);
    yield row;
  }
}

function messageOf(row: ReturnType<typeof memoryFromSql>, readAt: unknown): InboxMessage {
  const { id, title, content: payload, priority, tier, created_at, access_count } = row;
  const read_at = typeof readAt === 'string' ? readAt : null;
  const read = read_at !== null;
  return { id, from: ownerOf(row), title, payload, priority, tier, created_at, read, read_at, access_count };
}

export function inboxEvents({ statements }: QueryParts, query: InboxEvents): Answers['inbox-events'] {
  const { after, limit, now } = query;
  const end = statements
    .get('SELECT coalesce(max(commit_sequence), 0) FROM operations')
    .pluck()
    .get() as number;
  const rows = statements
    .get(
      `SELECT o.commit_sequence, o.namespace AS sent_to, ${SELECT_ROW}, ${READ_AT} AS read_at FROM operations o
       LEFT JOIN memories m ON m.id = o.subject AND m.namespace = o.namespace AND ${ALIVE}
       WHERE o.commit_sequence > @after AND o.commit_sequence <= @end AND o.kind IN ('store', 'restore')
         AND o.namespace > '${MESSAGES_ROOT}/' AND o.namespace < '${MESSAGES_ROOT}0' AND o.parked IS NULL
       ORDER BY o.commit_sequence LIMIT @limit`,
    )
    .all({ after, end, limit, now }) as SqlRow[];
  const events = rows.flatMap((sql) => {
    // A message that is gone, or damaged, is no event.
    const row = sql['id'] === null ? null : readable(sql);
    const to = row === null ? null : addresseeOf(row);
    if (row === null || to === null || inboxOf(to) !== sql['sent_to']) return [];
    return [{ id: Number(sql['commit_sequence']), to, message: messageOf(row, sql['read_at']) }];
  });
  const more = rows.length === limit;
  return { events, through: more ? Number(rows.at(-1)!['commit_sequence']) : end, more };
}

function readable(sql: SqlRow): ReturnType<typeof memoryFromSql> | null {
  try {
    return memoryFromSql(sql);
  } catch {
    return null;
  }
}

export function spentReceipts(
  { statements }: QueryParts,
  { limit }: SpentReceipts,
): Answers['spent-receipts'] {
  const ids = statements
    .get(
      `SELECT r.id FROM records r WHERE r.kind = 'receipt'
         AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.id = r.id)
         AND NOT EXISTS (SELECT 1 FROM archived_memories a WHERE a.id = r.id)
         AND EXISTS (SELECT 1 FROM tombstones t WHERE t.kind = 'memory' AND t.id = r.id)
       ORDER BY r.id LIMIT ?`,
    )
    .pluck()
    .all(limit) as string[];
  return { ids };
}
