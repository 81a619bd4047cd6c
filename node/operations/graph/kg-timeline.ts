import { z } from 'zod';
import * as limits from '../../../protocol/base/limits.js';
import { fail, failed } from '../../../protocol/base/result.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import type { Picture } from '../../pipeline/pictures.js';
import { boundedAnswer } from '../shared/traversal.js';

const output = z.object({
  source_id: z.string(),
  source_title: z.string(),
  events: z.array(
    z.object({
      target_id: z.string(),
      relation: z.string(),
      valid_from: z.string(),
      valid_until: z.string().nullable(),
      observed_by: z.string().nullable(),
      title: z.string(),
      target_namespace: z.string(),
    }),
  ),
  count: z.int(),
  ...fields.listEnd,
});

/** The dated links of a memory in the order of time, ended ones included (interface §4.5, GET /kg/timeline). */
export const kgTimeline = defineOperation({
  name: 'memory_kg_timeline',
  family: 'graph',
  summary: 'List the links of one memory by the time since when they hold, ended ones included.',
  input: z.object({
    source_id: fields.memoryId,
    since: fields.pastBegin.describe('Only links that hold since this RFC 3339 instant or later').optional(),
    until: fields.pastEnd.describe('Only links that hold since this RFC 3339 instant or earlier').optional(),
    believed_at: fields.moment.believed_at,
    limit: z
      .int()
      .min(1)
      .default(limits.TIMELINE_LIMIT)
      .describe(`At most this many links, up to ${limits.TIMELINE_LIMIT_MAX}`),
    format: fields.pictureFormat.default('json'),
  }),
  output,
  effect: 'read',
  guards: {},
  delegable: 'by-namespace',
  picture: timelinePicture,
  http: [{ method: 'GET', path: '/kg/timeline', fields: 'query' }],
  mcp: { description: 'Show how the relations of a memory changed over time.' },
  cli: {
    command: 'kg-timeline',
    positionals: ['source_id'],
    view: 'tree',
    examples: ['kg-timeline 3f2a --since 2026-01-01T00:00:00Z'],
  },
  run: async (call, input) => {
    const found = await call.services.store.query({
      kind: 'graph-timeline',
      id: input.source_id,
      since: input.since ?? null,
      until: input.until ?? null,
      believedAt: input.believed_at ?? null,
      limit: Math.min(input.limit, limits.TIMELINE_LIMIT_MAX),
      viewer: call.caller.viewer,
      now: call.now,
    });
    if (!found.ok) {
      const { code, message, details } = found.error;
      if (code !== 'NOT_FOUND') return failed(found.error);
      return fail(code, message, { ...details, found: false, source_id: input.source_id });
    }
    const { source, events } = found.value;
    return boundedAnswer(found.value, {
      source_id: source.id,
      source_title: source.title,
      events: events.map((event) => ({ ...event })),
      count: events.length,
    });
  },
});

function timelinePicture({ source_id, source_title, events }: z.output<typeof output>): Picture {
  const nodes = new Map([
    [source_id, { id: source_id, label: source_title }],
    ...events.map(({ target_id: id, title }) => [id, { id, label: title }] as const),
  ]);
  const edges = events.map(({ target_id: to, relation, valid_from: since, valid_until: until }) => ({
    ...{ from: source_id, to },
    label: `${since}${until === null ? '' : ` to ${until}`} ${relation}`,
  }));
  return { nodes: [...nodes.values()], edges };
}
