/** Observed confidences that are kept; the oldest are removed first. */
export const CONFIDENCE_OBSERVATIONS_MAX = 100_000;
export const CONFIDENCE_DAYS = 30;
/** Links of a memory that are counted; more make it no surer. */
export const CORROBORATIONS_MAX = 1000;
/** Pairs of a namespace and a source that a report has. */
export const CONFIDENCE_BASELINES_MAX = 500;
/** Rows that are ranked for a filter by confidence, where confidences decay. */
export const CONFIDENCE_CANDIDATES_MAX = 200;
