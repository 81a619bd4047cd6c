import type { RecallFilter } from './recall-request.js';

/** True when a request asks for fewer rows than an unfiltered one. */
export function isFiltered(filter: RecallFilter): boolean {
  return (
    filter.tags.length > 0 ||
    filter.since !== null ||
    filter.until !== null ||
    filter.kinds !== null ||
    (filter.tier ?? null) !== null ||
    filter.hasCitations === true ||
    (filter.sourceUriPrefix ?? null) !== null ||
    (filter.confidence ?? null) !== null ||
    (filter.asOf ?? null) !== null
  );
}
