import { z } from 'zod';
import { failed, ok } from '../../../protocol/base/result.js';
import type { MemoryVersion } from '../../../protocol/memory/queries.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';

const VERSIONS = 20;
/** So many of the longest memories fit into one answer. */
const VERSIONS_MAX = 100;

/** The versions of a memory. Only over HTTP, for the console. */
export const memoryHistory = defineOperation({
  name: 'memory_history',
  family: 'lifecycle',
  summary: 'List the versions of a memory that the log of this node holds, the newest first.',
  input: z.object({
    id: fields.memoryId,
    limit: fields.listLimit(VERSIONS, VERSIONS_MAX, 'versions'),
  }),
  output: z.object({
    id: z.string(),
    versions: z.array(
      z.object({
        op_id: z.string().describe('Give it as `to` to undo up to this version'),
        change: z.string().describe('store, update, promote or restore'),
        at: z.string(),
        node: z.string().describe('The node that wrote it'),
        memory: z
          .looseObject({
            title: z.string(),
            content: z.string(),
            namespace: z.string(),
            tier: z.string(),
            kind: z.string(),
            tags: z.array(z.string()),
            priority: z.number(),
            agent_id: z.string().nullable(),
            expires_at: z.string().nullable(),
          })
          .nullable()
          .describe('Null where the log dropped it, or the caller could not see the memory then'),
      }),
    ),
    count: z.int(),
    ...fields.listEnd,
  }),
  effect: 'read',
  guards: {},
  http: [{ method: 'GET', path: '/memories/{id}/history', fields: 'query' }],
  run: async (call, { id, limit }) => {
    const { viewer } = call.caller;
    const found = await call.services.store.query({
      kind: 'memory-history',
      id,
      limit,
      viewer,
      now: call.now,
    });
    if (!found.ok) return failed(found.error);
    const { versions, truncated } = found.value;
    return ok({
      id: found.value.id,
      versions: versions.map(shown),
      count: versions.length,
      ...(truncated ? { truncated: true as const } : {}),
    });
  },
});

function shown({ memory, ...version }: MemoryVersion) {
  if (memory === null) return { ...version, memory };
  const { title, content, namespace, tier, kind, tags, priority, expires_at, metadata } = memory;
  const agent = metadata['agent_id'];
  return {
    ...version,
    memory: {
      ...{ title, content, namespace, tier, kind, tags: [...tags], priority, expires_at },
      agent_id: typeof agent === 'string' ? agent : null,
    },
  };
}
