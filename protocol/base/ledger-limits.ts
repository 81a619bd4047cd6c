// The ledger of recalls (reference-mcp-cli §6.8).
export const OBSERVATIONS_TTL_DAYS = 7;
export const OBSERVATIONS_LIMIT = 200;
export const OBSERVATIONS_LIMIT_MAX = 1000;
/** Recalls in the ledger; the oldest are removed first. */
export const OBSERVATIONS_MAX = 20_000;
/** Recalls that wait to be written; further ones are dropped, so that a busy node writes memories first. */
export const OBSERVATIONS_PENDING_MAX = 2000;
/** Recalls that one command writes or prunes. */
export const OBSERVATIONS_BATCH_MAX = 200;
export const OBSERVATIONS_PRUNE_INTERVAL_MS = 600_000;

// What a recall leaves besides its rows.
/** Characters of a query that are kept. */
export const RECALL_QUERY_KEPT_MAX = 500;
/** How long after a recall a use of one of its rows counts for it. */
export const RECALL_USE_SECONDS = 3600;
/** The newest recalls of an agent among which the one is looked for that answered a memory that is used. */
export const RECALL_USE_LOOKS_MAX = 100;
/** Erasures that recalls are compared with when they are written; after more at once none of them is written. */
export const RECALL_ERASURES_MAX = 10_000;
/** Recalls on a page of their list. */
export const RECALLS_LIMIT = 20;
export const RECALLS_LIMIT_MAX = 200;
