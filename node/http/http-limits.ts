/** Limits of the HTTP surface alone, with their units. */

/** Request line and headers together; the URL has its own, smaller cap. */
export const HEAD_BYTES_MAX = 32_768;
/** An idle connection is kept longer than common clients keep theirs, so that the client is the one that closes. */
export const KEEP_ALIVE_IDLE_MS = 65_000;
export const CONNECTIONS_MAX = 4096;
/** How long a drain tells new requests that the node is shutting down before it closes idle connections. */
export const DRAIN_NOTICE_MS = 100;
export const LISTEN_BACKLOG = 1024;
/** A refused upload is read on for this long and this far, so that its sender can still read the refusal. */
export const LINGER_MS = 2000;
export const LINGER_BYTES_MAX = 16 * 1024 * 1024;
/** How finely deadlines are watched. */
export const SWEEP_INTERVAL_MS_MIN = 5;
export const SWEEP_INTERVAL_MS_MAX = 1000;
/** An error names at most this many unknown fields, each cut to this length. */
export const NAMED_FIELDS_MAX = 16;
export const NAMED_FIELD_LENGTH_MAX = 64;
