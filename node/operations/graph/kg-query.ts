import { z } from 'zod';
import * as limits from '../../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { PATH_SEPARATOR } from '../../../protocol/graph/walk.js';
import { RELATIONS } from '../../../protocol/links/link.js';
import type { ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import type { Picture } from '../../pipeline/pictures.js';
import { filterFor } from '../shared/filter.js';
import { boundedAnswer, momentOf } from '../shared/traversal.js';

const input = z.object({
  source_id: fields.memoryId.optional(),
  max_depth: z.int().min(1).max(limits.KG_DEPTH_MAX).default(1).describe('Links to follow, 1 to 5'),
  ...fields.moment,
  include_invalidated: fields.includeInvalidated,
  allowed_agents: z
    .array(fields.agentId)
    .max(limits.KG_AGENTS_MAX)
    .describe('Only links that these agents observed; an empty list finds nothing')
    .optional(),
  rel_types: z.array(z.enum(RELATIONS)).describe('Only links of these relations').optional(),
  limit: z
    .int()
    .min(1)
    .default(limits.KG_LIMIT)
    .describe(`At most this many rows, up to ${limits.KG_LIMIT_MAX}`),
  by_source_uri: fields.sourceUri
    .describe('Instead of source_id: the memories with this source_uri')
    .optional(),
  namespace: fields.namespace.describe('With by_source_uri: only memories of this namespace').optional(),
  format: fields.pictureFormat.default('json'),
});

const output = z.object({
  source_id: z.string().optional(),
  source_title: z.string().optional(),
  by_source_uri: z.string().optional(),
  max_depth: z.int().optional(),
  memories: z.array(
    z.object({
      target_id: z.string(),
      title: z.string(),
      target_namespace: z.string(),
      relation: z.string().optional(),
      valid_from: z.string().nullable().optional(),
      valid_until: z.string().nullable().optional(),
      observed_by: z.string().nullable().optional(),
      depth: z.int(),
      path: z.string().optional(),
      source_uri: z.string().nullable().optional(),
    }),
  ),
  paths: z.array(z.string()).optional(),
  count: z.int(),
  ...fields.listEnd,
});
type Output = z.output<typeof output>;

/** Walks the links of a memory, away from it (interface §4.5, POST /kg/query). */
export const kgQuery = defineOperation({
  name: 'memory_kg_query',
  family: 'graph',
  summary: 'Find the memories that links lead to from one memory.',
  input,
  output,
  effect: 'read',
  guards: {},
  delegable: 'by-namespace',
  picture: walkPicture,
  http: [{ method: 'POST', path: '/kg/query', fields: 'body', aliases: { from: 'source_id' } }],
  mcp: { description: 'Follow links from one memory, over several steps, to all that it leads to.' },
  cli: {
    command: 'kg-query',
    positionals: ['source_id'],
    view: 'tree',
    examples: [
      'kg-query 3f2a --max-depth 3',
      'kg-query 3f2a --valid-at 2026-03-01T00:00:00Z --format mermaid',
    ],
  },
  run: async (call, asked) => {
    const { source_id: id, by_source_uri: uri } = asked;
    if ((id === undefined) === (uri === undefined)) {
      return fail('VALIDATION_FAILED', 'source_id or by_source_uri is required, and not both', {
        fields: ['source_id', 'by_source_uri'],
      });
    }
    return id === undefined ? bySourceUri(call, asked, uri!) : fromMemory(call, asked, id);
  },
});

type Input = z.output<typeof input>;

async function fromMemory(call: ReadCall, input: Input, id: string): Promise<Result<Output>> {
  const walked = await call.services.store.query({
    kind: 'walk-graph',
    id,
    maxDepth: input.max_depth,
    limit: Math.min(input.limit, limits.KG_LIMIT_MAX),
    moment: momentOf(call, input),
    allowedAgents: input.allowed_agents ?? null,
    relations: input.rel_types ?? null,
    viewer: call.caller.viewer,
    now: call.now,
  });
  if (!walked.ok) return failed(walked.error);
  const { source, memories } = walked.value;
  return boundedAnswer(walked.value, {
    source_id: source.id,
    source_title: source.title,
    max_depth: input.max_depth,
    memories: memories.map((memory) => ({ ...memory })),
    paths: memories.map(({ path }) => path),
    count: memories.length,
  });
}

async function bySourceUri(call: ReadCall, input: Input, uri: string): Promise<Result<Output>> {
  const limit = Math.min(input.limit, limits.KG_LIMIT_MAX);
  const filter = filterFor(call, { namespace: input.namespace, limit, offset: 0 });
  const found = await call.services.store.query({
    kind: 'search-memories',
    query: '',
    filter,
    sourceUri: uri,
  });
  if (!found.ok) return failed(found.error);
  const memories = found.value.memories.map(({ id, title, namespace, source_uri }) => ({
    ...{ target_id: id, title, target_namespace: namespace, depth: 0, source_uri },
  }));
  return ok({ by_source_uri: uri, memories, count: memories.length });
}

function walkPicture({ source_id, source_title, by_source_uri, memories }: Output): Picture {
  const root = { id: source_id ?? '', label: source_title ?? by_source_uri ?? '' };
  const nodes = new Map([
    [root.id, root],
    ...memories.map(({ target_id: id, title }) => [id, { id, label: title }] as const),
  ]);
  const edges = memories.map(({ target_id: to, path, relation = 'source', valid_until: until }) => {
    const from = path?.split(PATH_SEPARATOR).at(-2) ?? root.id;
    return { from, to, label: until == null ? relation : `${relation} until ${until}` };
  });
  const distinct = new Map(edges.map((edge) => [`${edge.from} ${edge.to} ${edge.label}`, edge]));
  return { nodes: [...nodes.values()], edges: [...distinct.values()] };
}
