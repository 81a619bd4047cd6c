// Coordination: actions with their edges and leases

/** Payload and metadata of an action, as JSON. */
export const ACTION_JSON_BYTES_MAX = 65_536;
export const ACTION_KIND_LENGTH_MAX = 128;
export const ACTION_PRIORITY_MAX = 1_000_000;
/** Edges of one action, in both directions together. */
export const ACTION_EDGES_MAX = 256;
/** Actions that one request makes at most, and edges between them. */
export const ACTIONS_PLANNED_MAX = 256;
export const EDGES_PLANNED_MAX = 1024;
/** Actions at which a search for a cycle looks, before an edge is made or shown. */
export const ACTION_CYCLE_ACTIONS_MAX = 2000;
export const ACTION_LIST_LIMIT = 50;
export const ACTION_FRONTIER_LIMIT = 20;
/** Actions that a frontier shows as stuck. */
export const ACTIONS_STUCK_SHOWN = 20;
/** Days that finished actions are kept. */
export const ACTION_KEPT_DAYS = 30;
export const ACTION_KEPT_DAYS_MAX = 36_500;
export const ACTION_SWEEP_MS = 1_800_000;
/** Finished actions that one round removes. */
export const ACTIONS_SWEPT_MAX = 50;

export const LEASE_SECONDS = 60;
export const LEASE_SECONDS_MAX = 365 * 86_400;
/** How often the holder of the database looks which leases have ended. */
export const LEASE_ROUND_MS = 500;
/** How often it looks for leases whose terms nobody counts, after a restart or an adoption. */
export const LEASE_ADOPTION_ROUND_MS = 10_000;
/** Leases, or terms, that it reads at a time. */
export const LEASE_PAGE_ROWS = 1000;
