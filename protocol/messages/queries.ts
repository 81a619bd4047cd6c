import type { Ask } from '../base/ask.js';
import type { AgentId, Instant, MemoryId } from '../base/meanings.js';
import type { Tier } from '../memory/memory.js';
import type { LeftOut } from '../memory/queries.js';

/** Queries of messages, each with its answer. */
export interface MessageQueries {
  readonly 'list-inbox': Ask<
    ListInbox,
    LeftOut & {
      readonly messages: readonly InboxMessage[];
      /** True when older messages are left out, because the answer would be too long. */
      readonly truncated: boolean;
    }
  >;
  readonly 'unread-messages': Ask<UnreadMessages, { readonly ids: readonly MemoryId[] }>;
  readonly 'inbox-events': Ask<InboxEvents, InboxEventPage>;
  readonly 'spent-receipts': Ask<SpentReceipts, { readonly ids: readonly MemoryId[] }>;
}

/** A message as its addressee sees it (reference-http §1, row 59). */
export interface InboxMessage {
  readonly id: MemoryId;
  readonly from: AgentId | null;
  readonly title: string;
  readonly payload: string;
  readonly priority: number;
  readonly tier: Tier;
  readonly created_at: Instant;
  /** True when its addressee marked it. */
  readonly read: boolean;
  /** When that was; null before. */
  readonly read_at: Instant | null;
  readonly access_count: number;
}

/** The messages to an agent, the newest first. */
export interface ListInbox {
  readonly kind: 'list-inbox';
  readonly agentId: AgentId;
  readonly unreadOnly: boolean;
  readonly limit: number;
  readonly now: Instant;
}

/** The ids of messages to an agent that it has not marked. */
export interface UnreadMessages {
  readonly kind: 'unread-messages';
  readonly agentId: AgentId;
  readonly limit: number;
  readonly now: Instant;
}

/** Messages that came after a place in the log, in the order in which this node got them. */
export interface InboxEvents {
  readonly kind: 'inbox-events';
  /** A commit sequence. */
  readonly after: number;
  readonly limit: number;
  readonly now: Instant;
}

export interface InboxEvent {
  /** The commit sequence of the operation. */
  readonly id: number;
  readonly to: AgentId;
  readonly message: InboxMessage;
}

export interface InboxEventPage {
  readonly events: readonly InboxEvent[];
  /** The place after which the next page begins. */
  readonly through: number;
  readonly more: boolean;
}

/** Receipts of messages that were removed and are not in the archive. */
export interface SpentReceipts {
  readonly kind: 'spent-receipts';
  readonly limit: number;
}
