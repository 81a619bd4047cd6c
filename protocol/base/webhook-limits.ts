// Webhooks: a part of the one list of limits, which holds it (protocol/base/limits.ts)

/** One attempt to deliver an event: name resolution, connection, request and answer. */
export const WEBHOOK_TIMEOUT_MS = 5000;
/** Host names that are resolved at the same time. */
export const WEBHOOK_LOOKUPS_MAX = 2;
/** The waits after failed attempts; after the attempt that follows the last one, the event is a dead letter. */
export const WEBHOOK_RETRY_MS = [200, 1000, 5000] as const;
/** A longer answer of a receiver is no acknowledgement. */
export const WEBHOOK_RESPONSE_BYTES_MAX = 65_536;
/** The body of one event; longer lists in it are cut, and `truncated` says so. */
export const WEBHOOK_BODY_BYTES_MAX = 8192;
/** Subscriptions that are served at the same time. */
export const WEBHOOK_CONCURRENCY = 32;
export const WEBHOOK_CONCURRENCY_MAX = 4096;
/** Events in a row that became dead letters, after which a subscription is quarantined. */
export const WEBHOOK_FAILURES_IN_ROW_MAX = 20;
/** How often one event may be sent again on request; after that it is poison. */
export const WEBHOOK_REPLAYS_MAX = 100;

export const SUBSCRIPTIONS_PER_AGENT_MAX = 100;
export const SUBSCRIPTIONS_MAX = 1000;
export const SUBSCRIPTION_URL_BYTES_MAX = 2048;
export const SUBSCRIPTION_SECRET_BYTES_MAX = 1024;
/** Recorded events of a node; the oldest go first, also where a subscription has not got them yet. */
export const ANNOUNCED_EVENTS_MAX = 100_000;
/** Recorded events that are looked at in one step. */
export const ANNOUNCED_EVENTS_STEP = 1000;
/** Recorded events ahead of a subscription among which those that wait are counted. */
export const ANNOUNCED_EVENTS_COUNTED = 10_000;
/** Turns of all subscriptions together in a second: each is a connection, and what it delivers is recorded. */
export const WEBHOOK_TURNS_PER_SECOND = 100;
/** Dead letters of one subscription; further ones are dropped and counted. */
export const SUBSCRIPTION_DEAD_LETTERS_MAX = 10_000;
/**
 * How long, and how many, delivered and failed events of one subscription are kept for a replay. Events that wait behind a
 * quarantine are kept as long.
 */
export const SUBSCRIPTION_HISTORY_SECONDS = 7 * 86_400;
export const SUBSCRIPTION_HISTORY_MAX = 10_000;
/** Rows that one transaction removes from the history, and the time between two looks. */
export const SUBSCRIPTION_PRUNE_MAX = 500;
export const SUBSCRIPTION_PRUNE_MS = 60_000;
/** Events, or dead letters, in one answer, and the bytes of their bodies. */
export const SUBSCRIPTION_PAGE = 100;
export const SUBSCRIPTION_PAGE_MAX = 1000;
/** Events that one call sends again. */
export const SUBSCRIPTION_RESEND_MAX = 1000;
