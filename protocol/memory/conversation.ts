/** The name of a conversation, in bytes. */
export const CONVERSATION_BYTES_MAX = 512;
export const TURN_MAX = Number.MAX_SAFE_INTEGER;
/** What a peer may send. */
export const REPLICATED_CONVERSATION_BYTES_MAX = 4 * CONVERSATION_BYTES_MAX;

/**
 * The place of a memory in a conversation. The memories of one conversation have one owner, one namespace and one name, and
 * stand in the order of their turns. What stands beside a turn may explain it, so a recall reads the neighbours of such a
 * memory, and of no other.
 */
export interface Spoken {
  /** Null for a memory that stands for itself. */
  readonly conversation: string | null;
  /** Its place in the conversation: a number of the caller, or the milliseconds since 1970 of its creation. */
  readonly turn: number | null;
}

/** The place that a caller names. */
export const spokenOf = (
  { conversation, turn }: { readonly conversation?: string | undefined; readonly turn?: number | undefined },
  createdMs: number,
): Spoken =>
  conversation === undefined ? { conversation: null, turn: null } : { conversation, turn: turn ?? createdMs };

/** The conversation of a session of a host. */
export const sessionConversation = (hostKind: string, session: string): string => `${hostKind}:${session}`;
