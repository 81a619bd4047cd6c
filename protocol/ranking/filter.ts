import type { RecallFilter } from './types.js';

/** Whether a request wants fewer rows than everybody would get. */
export function isFiltered(filter: RecallFilter): boolean {
  return (
    filter.tags.length > 0 ||
    filter.since !== null ||
    filter.until !== null ||
    filter.kinds !== null ||
    (filter.tier ?? null) !== null ||
    filter.hasCitations === true ||
    (filter.sourceUriPrefix ?? null) !== null ||
    (filter.confidence ?? null) !== null
  );
}
