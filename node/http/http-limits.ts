import { REQUEST_URL_BYTES_MAX } from '../../protocol/base/limits.js';

/** Limits that only the HTTP surface has, with their units. */

/** Maximum size of the head of a request. */
export interface HeadLimits {
  /** Request line and headers together. */
  readonly headBytesMax: number;
  readonly urlBytesMax: number;
}
export const HEAD_LIMITS: HeadLimits = { headBytesMax: 32_768, urlBytesMax: REQUEST_URL_BYTES_MAX };
/**
 * Used when an allowlist admits clients: the cursor of a peer names every origin that it has seen, at about 70 bytes
 * each in a URL.
 */
export const PEER_HEAD_LIMITS: HeadLimits = { headBytesMax: 1_048_576, urlBytesMax: 1_000_000 };
/** An idle connection is kept longer than common clients keep theirs, so that the client closes it. */
export const KEEP_ALIVE_IDLE_MS = 65_000;
/** How long a drain tells new requests that the node is shutting down before it closes idle connections. */
export const DRAIN_NOTICE_MS = 100;
export const LISTEN_BACKLOG = 1024;
/** What comes on a connection that ends is read for this long, so that its client can read the last answer. */
export const LINGER_MS = 2000;
/** How often deadlines are checked. */
export const SWEEP_INTERVAL_MS_MIN = 5;
export const SWEEP_INTERVAL_MS_MAX = 1000;
/** How old and how far ahead the timestamp of a signed approval may be (decisions, "approval signature"). */
export const APPROVAL_SIGNATURE_SECONDS_MAX = 300;
export const APPROVAL_SIGNATURE_AHEAD_SECONDS_MAX = 60;
/** Signatures that are remembered, so that each is good once; beyond it signed approvals have to wait. */
export const APPROVAL_SIGNATURES_MAX = 50_000;
