// Calls of local processes to the daemon: a part of the one list of limits, which holds it (protocol/base/limits.ts)

/** A call over the local socket; the MCP surface accepts the same. */
export const LOCAL_LINE_BYTES_MAX = 16 * 1024 * 1024;
/** Its answer: a page of memories, whose text JSON can make several times as long. */
export const LOCAL_ANSWER_BYTES_MAX = 64 * 1024 * 1024;
export const LOCAL_CONNECTIONS_MAX = 256;
/** Calls under way of one connection, whose answers may wait in memory; the daemon reads no further ones meanwhile. */
export const LOCAL_CALLS_PER_CONNECTION_MAX = 8;
/** Calls under way of all connections; beyond it a call is OVERLOADED. */
export const LOCAL_CALLS_MAX = 1024;
/** The daemon waits this long for the greeting of a connection, and then ends it. */
export const LOCAL_SILENT_MS = 5000;
/** At its end the daemon waits this long for processes to read their answers. */
export const LOCAL_UNREAD_MS = 1000;
/** A call whose connection broke goes to the daemon so often, then its outcome counts as unknown. */
export const LOCAL_TRIES_MAX = 3;
/** A process waits this long for the daemon's answer to its greeting, then works without it. */
export const LOCAL_GREETING_TIMEOUT_MS = 1000;
/** A process that works without the daemon looks for one again after this time. */
export const LOCAL_PROBE_MS = 200;
/** The same after a daemon that did not answer the greeting. */
export const LOCAL_HUNG_REST_MS = 10_000;

/** Browsers keep files whose names have the hash of what they hold; a year is the most that they take. */
export const HASHED_FILE_KEPT_SECS = 365 * 86_400;
