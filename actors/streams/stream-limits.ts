/** Limits that only the streams of events have, with their units. */

/** Listeners of the stream of approvals; below `CONNECTIONS_MAX`, so that requests still find room. */
export const STREAM_LISTENERS_MAX = 3000;
/** Bytes that wait for one listener; beyond it the listener is cut. */
export const STREAM_UNREAD_BYTES_MAX = 64 * 1024;
/** Events that one round of the stream sends; their bytes stay below those that may wait. */
export const STREAM_EVENTS_PER_ROUND = 32;
/** Pages of the log that one round reads for listeners that were away. */
export const STREAM_PAGES_PER_ROUND = 8;
export const STREAM_KEEPALIVE_MS = 15_000;
/**
 * The stream of inboxes: its events are longer, so its listeners are fewer. A longer payload is cut, and
 * the bytes of one round stay below those that may wait.
 */
export const INBOX_LISTENERS_MAX = 1000;
export const INBOX_UNREAD_BYTES_MAX = 512 * 1024;
export const INBOX_EVENTS_PER_ROUND = 8;
export const INBOX_PAYLOAD_BYTES_MAX = 8192;
/** A listener that was away for more operations than these begins at the end. */
export const STREAM_REPLAY_OPERATIONS_MAX = 50_000;
