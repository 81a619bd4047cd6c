/** Questions to a model in one cycle (reference-mcp-cli §6.9), and the most that may be asked for. */
export const CURATOR_OPS = 100;
export const CURATOR_OPS_MAX = 500;
export const CURATOR_INTERVAL_SECS = 3600;
export const CURATOR_INTERVAL_SECS_MIN = 60;
export const CURATOR_INTERVAL_SECS_MAX = 86_400;
/** Namespaces that are included or left out. */
export const CURATOR_NAMESPACES_MAX = 100;

/** Memories that are looked at for each question of a tier, and at most. */
export const CURATED_ROWS_PER_OP = 4;
export const CURATED_ROWS_MAX = 400;
/** A shorter text says nothing that its title does not say. */
export const CURATED_LENGTH_MIN = 50;
/** Longer texts are not joined: a model would read only their beginnings. */
export const JOINED_BYTES_MAX = 5000;

/** Share of common words from which on memories are joined, and how many at most. */
export const CLUSTER_JACCARD_MIN = 0.55;
export const CLUSTER_ROWS_MAX = 8;
export const CLUSTERS_MAX = 100;
/** Share of common words from which on two memories may contradict each other. */
export const ADJACENT_JACCARD_MIN = 0.3;

/** Clusters of observations that a reflection is written about. */
export const REFLECT_JACCARD_MIN = 0.3;
export const REFLECT_ROWS_MIN = 3;
export const REFLECT_ROWS_MAX = 12;
export const REFLECT_DAYS = 7;
/** As deep as the default of the policies. */
export const REFLECT_DEPTH_MAX = 3;

/** What makes a memory more or less important. */
export const RAISED_ACCESSES_MIN = 10;
export const RAISED_DAYS = 7;
export const LOWERED_DAYS = 30;
/** A priority is changed at most once in so many days. */
export const ADJUSTED_DAYS = 7;
export const ADJUSTED_MAX = 100;

/** How long reports, and records that were not rolled back, are kept. */
export const CURATION_KEPT_DAYS = 30;
/** Records that one call rolls back. */
export const ROLLBACK_LAST_MAX = 100;
/** What a report says of failures. */
export const REPORT_ERRORS_MAX = 20;
export const REPORT_ERROR_LENGTH_MAX = 200;
/** Time that a cycle keeps for its report. */
export const CYCLE_END_MS = 60_000;
