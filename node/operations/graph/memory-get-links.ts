import { z } from 'zod';
import * as limits from '../../../protocol/base/limits.js';
import { failed, ok } from '../../../protocol/base/result.js';
import { RELATIONS } from '../../../protocol/links/link.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { shownLinks } from './attested-links.js';

const earlierPeriod = z.object({
  created_at: z.string(),
  valid_from: z.string().optional(),
  valid_until: z.string().optional(),
  observed_by: z.string().optional(),
  believed_from: z.string().describe('Since when this was known'),
  believed_to: z.string().describe('When another end became known').optional(),
});

/** A link in an answer; unset fields are left out. */
const link = z.object({
  source_id: z.string(),
  target_id: z.string(),
  relation: z.enum(RELATIONS),
  created_at: z.string(),
  valid_from: z.string().optional(),
  valid_until: z.string().optional(),
  observed_by: z.string().optional(),
  attest_level: z.string(),
  signed_at: z.string().optional(),
  signed_by: z.string().describe('The node or agent whose key signed').optional(),
  retired_at: z.string().describe('When it was invalidated').optional(),
  believed_until: z.string().describe('The valid_until that it had before that').optional(),
  earlier: z
    .array(earlierPeriod)
    .describe('Periods before the link was made again, and ends that were corrected')
    .optional(),
});

/** Reads the links of a memory, in both directions (interface §4.5, GET /links/{id}). */
export const memoryGetLinks = defineOperation({
  name: 'memory_get_links',
  family: 'graph',
  summary: 'Read the links of a memory, in both directions.',
  input: z.object({
    id: fields.memoryId,
    limit: z
      .int()
      .min(1)
      .default(limits.LINKS_LIMIT)
      .describe('At most this many links; the page cap of the node bounds it'),
  }),
  output: z.object({
    links: z.array(link),
    count: z.int(),
    truncated: z.literal(true).describe('There are, or may be, more').optional(),
  }),
  effect: 'read',
  guards: {},
  delegable: 'by-namespace',
  http: [{ method: 'GET', path: '/links/{id}', fields: 'query' }],
  mcp: { description: 'Read what one memory is linked to, in both directions.' },
  run: async (call, input) => {
    const found = await call.services.store.query({
      kind: 'links-of-memory',
      id: input.id,
      limit: Math.min(input.limit, call.services.settings.pageSizeMax),
      viewer: call.caller.viewer,
      now: call.now,
    });
    if (!found.ok) return failed(found.error);
    const links = (await shownLinks(call, found.value.links)) as z.output<typeof link>[];
    return ok({ links, count: links.length, ...(found.value.truncated ? { truncated: true as const } : {}) });
  },
});
