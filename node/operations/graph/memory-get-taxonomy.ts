import { z } from 'zod';
import { namespaceNameProblem } from '../../../protocol/base/ids.js';
import * as limits from '../../../protocol/base/limits.js';
import { failed, ok } from '../../../protocol/base/result.js';
import { taxonomyOf } from '../../../protocol/namespaces/taxonomy.js';
import { defineOperation } from '../../pipeline/operation.js';

/** A namespace at which a tree begins; one slash at the end is tolerated (reference-mcp-cli §1.2). */
const root = z
  .string()
  .normalize('NFC')
  .transform((value) => value.replace(/\/$/, ''))
  .superRefine((value, context) => {
    const message = namespaceNameProblem(value);
    if (message !== null) context.addIssue({ code: 'custom', message });
  });

const node = z.object({
  namespace: z.string(),
  count: z.int(),
  subtree_count: z.int(),
  children: z.array(z.looseObject({})).describe('The namespaces below, in the same shape'),
});

/** The tree of namespaces with their counts (interface §4.5, GET /taxonomy). */
export const memoryGetTaxonomy = defineOperation({
  name: 'memory_get_taxonomy',
  family: 'graph',
  summary: 'Show the tree of namespaces with their number of memories.',
  input: z.object({
    prefix: root.describe('Show only this namespace and those below it').optional(),
    root: root.describe('The same as prefix, which wins').optional(),
    depth: z
      .int()
      .min(0)
      .default(limits.TAXONOMY_DEPTH_MAX)
      .describe(`Levels below the prefix, up to ${limits.TAXONOMY_DEPTH_MAX}`),
    limit: z
      .int()
      .default(limits.TAXONOMY_LIMIT)
      .describe(`At most this many namespaces, 1 to ${limits.TAXONOMY_LIMIT_MAX}; the largest stay`),
  }),
  output: z.object({ tree: z.array(node), total_count: z.int(), truncated: z.boolean() }),
  effect: 'read',
  guards: { admin: true },
  delegable: 'by-namespace',
  http: [{ method: 'GET', path: '/taxonomy', fields: 'query' }],
  mcp: {
    description: 'Show which namespaces there are, as a tree with counts.',
    omit: ['root'],
    aliases: { namespace_prefix: 'prefix' },
  },
  run: async (call, { prefix, root: given, depth, limit }) => {
    const from = prefix ?? given ?? null;
    const result = await call.services.store.query({
      kind: 'count-namespaces',
      prefix: from,
      viewer: call.caller.viewer,
      now: call.now,
    });
    if (!result.ok) return failed(result.error);
    const { tree, total_count, truncated } = taxonomyOf(result.value.namespaces, {
      prefix: from,
      depth: Math.min(depth, limits.TAXONOMY_DEPTH_MAX),
      limit: Math.min(Math.max(limit, 1), limits.TAXONOMY_LIMIT_MAX),
    });
    return ok({ tree: tree as never, total_count, truncated });
  },
});
