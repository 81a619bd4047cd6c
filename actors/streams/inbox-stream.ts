import { instantFromMs } from '../../protocol/base/time.js';
import { excerpt } from '../../protocol/base/utf8.js';
import { isWithheld } from '../../protocol/base/withheld.js';
import type { InboxEvent } from '../../protocol/messages/queries.js';
import { inboxOf } from '../../protocol/namespaces/mail.js';
import { dataFrame } from './frames.js';
import { LogStream, type LogStreamParts, type StreamPage } from './log-stream.js';
import * as limits from './stream-limits.js';

/** The stream of inboxes: each listener hears of the messages to its own agent. */
export class InboxStream extends LogStream {
  constructor(parts: LogStreamParts) {
    super(parts, {
      name: 'inbox',
      instead: 'poll GET /inbox',
      listenersMax: limits.INBOX_LISTENERS_MAX,
      unreadBytesMax: limits.INBOX_UNREAD_BYTES_MAX,
      page: (after) => inboxPage(parts, after),
    });
  }
}

async function inboxPage({ store, clock }: LogStreamParts, after: number): Promise<StreamPage | null> {
  const now = instantFromMs(clock.nowMs());
  const query = { kind: 'inbox-events', after, limit: limits.INBOX_EVENTS_PER_ROUND, now } as const;
  const found = await store.query(query, { lane: 'background' });
  if (!found.ok) return null;
  const { events, through, more } = found.value;
  return {
    through,
    more,
    events: events.map((event) => ({
      id: event.id,
      frame: messageFrame(event),
      mayHear: (viewer) => viewer.agentId === event.to && !isWithheld(viewer, inboxOf(event.to)),
    })),
  };
}

/** A message as listeners get it: the row of the inbox, a long payload cut. */
function messageFrame({ id, to, message }: InboxEvent): Uint8Array {
  const payload = excerpt(message.payload, limits.INBOX_PAYLOAD_BYTES_MAX);
  const cut = payload === message.payload ? {} : { payload_truncated: true };
  return dataFrame(id, 'message', { to, ...message, payload, ...cut });
}
