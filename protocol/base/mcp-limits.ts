/** The text of a list that a tool answers: what hosts hand to their models without cutting it, about 25,000 tokens. */
export const MCP_ANSWER_BYTES_MAX = 96 * 1024;
/** A line of the MCP stream; the reference accepts the same. */
export const MCP_LINE_BYTES_MAX = 16 * 1024 * 1024;

/** How long a store may take that an MCP server forwards to another node (`mcp_federation_forward_url`). */
export const FORWARDED_STORE_MS = 15_000;

// MCP over HTTP
/** Sessions that a daemon keeps; at the limit the one that rests longest ends. */
export const MCP_SESSIONS_MAX = 1024;
/** Sessions of one agent; at the limit its own one that rests longest ends. */
export const MCP_SESSIONS_PER_CALLER_MAX = 64;
/** A session without a request or an open stream ends after this time. */
export const MCP_SESSION_IDLE_MS = 3_600_000;
/** How often that is looked at. */
export const MCP_SESSIONS_CHECK_MS = 60_000;
/** Messages of a session that a client can have again after its connection was lost. */
export const MCP_EVENTS_MAX = 256;
/** Bytes of these messages, of one session and of all. */
export const MCP_EVENTS_BYTES_MAX = 1024 * 1024;
export const MCP_EVENTS_ALL_BYTES_MAX = 64 * 1024 * 1024;
/** Bytes that a client which follows a session may leave unread; beyond that its connection ends. */
export const STREAM_UNREAD_BYTES_MAX = 4 * 1024 * 1024;
