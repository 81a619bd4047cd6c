import { z } from 'zod';
import * as limits from '../../../protocol/base/limits.js';
import type { LeftOut, MemoryFilter } from '../../../protocol/memory/queries.js';
import type { ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';

/** The filters that list and search share (interface §4.2, §4.3). */
export const filterFields = {
  namespace: fields.namespaceOrSubtree.optional(),
  tier: fields.tier.describe('Only memories of this tier').optional(),
  limit: z
    .int()
    .min(1)
    .default(limits.LIST_LIMIT)
    .describe('At most this many rows; the page cap of the node bounds it'),
  offset: z.int().min(0).max(limits.OFFSET_MAX).default(0).describe('Rows to skip'),
  min_priority: fields.priority.describe('Only memories of at least this priority').optional(),
  since: fields.pastBegin.describe('Only memories created since this RFC 3339 instant').optional(),
  until: fields.pastEnd.describe('Only memories created until this RFC 3339 instant').optional(),
  tags: fields.tagFilter.optional(),
  kinds: fields.kindFilter.optional(),
  agent_id: fields.agentId.describe('Only memories of this agent').optional(),
  as_of: fields.asOf,
} as const;

/** An answer that ended early because of its size says so, and where to continue. */
export function pageEnd(nextOffset: number | null) {
  return nextOffset === null ? {} : { truncated: true as const, next_offset: nextOffset };
}

const filterSchema = z.object(filterFields);

/** An answer that leaves out unreadable rows says how many. */
export function omittedDamaged({ damaged }: LeftOut): { readonly omitted_damaged?: number } {
  return damaged === undefined ? {} : { omitted_damaged: damaged.length };
}

/** No words and `all` mean every kind. */
export function kindsOf(words: readonly string[] | undefined): readonly string[] | null {
  const kinds = (words ?? []).map((word) => word.toLowerCase());
  return kinds.length === 0 || kinds.includes('all') ? null : kinds;
}

/** The store's filter for the parsed fields. */
export function filterFor(call: ReadCall, input: z.output<typeof filterSchema>): MemoryFilter {
  return {
    namespace: input.namespace ?? null,
    tier: input.tier ?? null,
    minPriority: input.min_priority ?? null,
    since: input.since ?? null,
    until: input.until ?? null,
    tags: input.tags ?? [],
    kinds: kindsOf(input.kinds),
    agentId: input.agent_id ?? null,
    asOf: input.as_of ?? null,
    viewer: call.caller.viewer,
    now: call.now,
    limit: Math.min(input.limit, call.services.settings.pageSizeMax),
    offset: input.offset,
  };
}
