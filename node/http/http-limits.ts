import { REQUEST_URL_BYTES_MAX } from '../../protocol/limits.js';

/** Limits of the HTTP surface alone, with their units. */

/** How long the head of a request may be. */
export interface HeadLimits {
  /** Request line and headers together. */
  readonly headBytesMax: number;
  readonly urlBytesMax: number;
}
export const HEAD_LIMITS: HeadLimits = { headBytesMax: 32_768, urlBytesMax: REQUEST_URL_BYTES_MAX };
/**
 * Where an allowlist admits clients: the cursor of a peer names every origin that it has heard of, some 70 bytes for each
 * in a URL.
 */
export const PEER_HEAD_LIMITS: HeadLimits = { headBytesMax: 1_048_576, urlBytesMax: 1_000_000 };
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
