import { z } from 'zod';
import * as limits from '../../../protocol/base/limits.js';
import { failed } from '../../../protocol/base/result.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import type { Picture } from '../../pipeline/pictures.js';
import { boundedAnswer } from '../shared/traversal.js';

const output = z.object({
  id: z.string(),
  title: z.string(),
  direction: z.enum(['ancestors', 'descendants']),
  nodes: z.array(
    z.object({
      id: z.string(),
      cid: z.string().nullable().describe('SHA-256 of the content; null for a removed memory'),
      relation: z.string(),
      depth: z.int(),
      via: z.string(),
      title: z.string().nullable(),
      namespace: z.string().nullable(),
    }),
  ),
  count: z.int(),
  ...fields.listEnd,
});

/** What a memory was made from, or what was made from it (interface §4.2, GET /memories/{id}/lineage). */
export const memoryLineage = defineOperation({
  name: 'memory_lineage',
  family: 'graph',
  summary: 'Find what a memory was made from, or what was made from it.',
  input: z.object({
    id: fields.memoryId,
    direction: z
      .enum(['ancestors', 'descendants'])
      .default('ancestors')
      .describe('ancestors: what it was made from; descendants: what was made from it'),
    max_depth: z
      .int()
      .min(1)
      .max(limits.LINEAGE_DEPTH_MAX)
      .default(limits.LINEAGE_DEPTH_MAX)
      .describe('Links to follow, 1 to 5'),
    format: fields.pictureFormat.default('json'),
  }),
  output,
  effect: 'read',
  guards: {},
  delegable: 'by-namespace',
  picture: lineagePicture,
  http: [{ method: 'GET', path: '/memories/{id}/lineage', fields: 'query' }],
  mcp: { description: 'Show which memories one was made from, or what was made from it.' },
  cli: {
    command: 'lineage',
    positionals: ['id', 'direction', 'max_depth'],
    view: 'tree',
    examples: ['lineage 3f2a', 'lineage 3f2a descendants'],
  },
  run: async (call, { id, direction, max_depth: maxDepth }) => {
    const { viewer } = call.caller;
    const query = { kind: 'memory-lineage', id, direction, maxDepth, viewer, now: call.now } as const;
    const found = await call.services.store.query(query);
    if (!found.ok) return failed(found.error);
    const { root, nodes } = found.value;
    return boundedAnswer(found.value, {
      id: root.id,
      title: root.title,
      direction,
      nodes: nodes.map((node) => ({ ...node })),
      count: nodes.length,
    });
  },
});

function lineagePicture({ id: root, title, direction, nodes }: z.output<typeof output>): Picture {
  return {
    nodes: [
      { id: root, label: title },
      ...nodes.map(({ id, title: label }) => ({ id, label: label ?? `${id} (removed)` })),
    ],
    edges: nodes.map(({ id: to, via: from, relation: label }) => ({
      ...{ from, to, label, reversed: direction === 'descendants' },
    })),
  };
}
