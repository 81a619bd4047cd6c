import { z } from 'zod';
import * as limits from '../../../protocol/base/limits.js';
import { failed } from '../../../protocol/base/result.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import type { Picture, PictureEdge } from '../../pipeline/pictures.js';
import { boundedAnswer, momentOf } from '../shared/traversal.js';

const output = z.object({
  source_id: z.string(),
  target_id: z.string(),
  paths: z.array(z.array(z.string())),
  count: z.int(),
  ...fields.listEnd,
  memories: z.array(z.object({ id: z.string(), title: z.string(), namespace: z.string() })),
  links: z.array(z.object({ source_id: z.string(), target_id: z.string(), relation: z.string() })),
});

const body = {
  method: 'POST',
  fields: 'body',
  aliases: { from_id: 'source_id', to_id: 'target_id' },
} as const;

/** Paths between two memories, along links in either direction (reference-http §3.6). */
export const findPaths = defineOperation({
  name: 'memory_find_paths',
  family: 'graph',
  summary: 'Find how two memories are connected, along links in either direction.',
  input: z.object({
    source_id: fields.memoryId,
    target_id: fields.memoryId,
    max_depth: z
      .int()
      .min(1)
      .max(limits.PATH_DEPTH_MAX)
      .default(limits.PATH_DEPTH)
      .describe('Links on one path, 1 to 7'),
    max_results: z
      .int()
      .min(1)
      .default(limits.PATH_RESULTS)
      .describe(`At most this many paths, up to ${limits.PATH_RESULTS_MAX}`),
    ...fields.moment,
    include_invalidated: fields.includeInvalidated,
    format: fields.pictureFormat.default('json'),
  }),
  output,
  effect: 'read',
  guards: {},
  delegable: 'by-namespace',
  picture: pathsPicture,
  http: [
    { ...body, path: '/kg/find_paths' },
    { ...body, path: '/find_paths' },
  ],
  mcp: { description: 'Find how two memories are related: the chain of links between them.' },
  cli: {
    command: 'find-paths',
    positionals: ['source_id', 'target_id'],
    view: 'tree',
    examples: ['find-paths 3f2a 91bc --max-depth 5'],
  },
  run: async (call, input) => {
    const found = await call.services.store.query({
      kind: 'find-paths',
      id: input.source_id,
      targetId: input.target_id,
      maxDepth: input.max_depth,
      maxResults: Math.min(input.max_results, limits.PATH_RESULTS_MAX),
      moment: momentOf(call, input),
      viewer: call.caller.viewer,
      now: call.now,
    });
    if (!found.ok) return failed(found.error);
    const { source, target, paths, memories, links } = found.value;
    return boundedAnswer(found.value, {
      source_id: source.id,
      target_id: target.id,
      paths: paths.map((path) => [...path]),
      count: paths.length,
      memories: memories.map((memory) => ({ ...memory })),
      links: links.map((link) => ({ ...link })),
    });
  },
});

/** The paths drawn over each other, with every link between neighbours. */
function pathsPicture({ source_id, paths, memories, links }: z.output<typeof output>): Picture {
  const titles = new Map(memories.map(({ id, title }) => [id, title]));
  const edges: PictureEdge[] = [];
  const drawn = new Set<string>();
  for (const [from, to] of paths.flatMap((path) => path.slice(1).map((id, at) => [path[at]!, id] as const))) {
    if (drawn.has(`${from} ${to}`) || drawn.has(`${to} ${from}`)) continue;
    drawn.add(`${from} ${to}`);
    for (const link of links) {
      const ahead = link.source_id === from && link.target_id === to;
      const back = link.source_id === to && link.target_id === from;
      if (ahead || back) edges.push({ from, to, label: link.relation, reversed: back });
    }
  }
  const ids = new Set([source_id, ...memories.map(({ id }) => id)]);
  return { nodes: [...ids].map((id) => ({ id, label: titles.get(id) ?? id })), edges };
}
