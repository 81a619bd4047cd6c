import { z } from 'zod';
import * as limits from '../../../protocol/base/limits.js';
import { fail, failed, ok } from '../../../protocol/base/result.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { omittedDamaged } from '../shared/filter.js';
import { shownMemories } from '../shared/shown-memories.js';

/**
 * Memories about one subject that may contradict each other, and those that stored links say contradict them (interface
 * §4.4, reference-http §3.1). Only on HTTP.
 */
export const memoryContradictions = defineOperation({
  name: 'memory_contradictions',
  family: 'power',
  summary: 'Find memories about one subject that say different things.',
  input: z.object({
    topic: fields.queryText.describe('A topic in the metadata, or a title').optional(),
    namespace: fields.namespace.optional(),
    limit: z
      .int()
      .min(1)
      .default(limits.CONTRADICTIONS_LIMIT)
      .describe('At most this many memories, and those that links add; the page cap of the node bounds it'),
  }),
  output: z.object({
    memories: z.array(fields.memoryOutput),
    links: z.array(
      z.object({
        source_id: z.string(),
        target_id: z.string(),
        relation: z.literal('contradicts'),
        synthesized: z.boolean(),
      }),
    ),
    truncated: z.literal(true).describe('A limit ended the search early').optional(),
    ...fields.omittedDamaged,
  }),
  effect: 'read',
  guards: {},
  http: [{ method: 'GET', path: '/contradictions', fields: 'query' }],
  run: async (call, input) => {
    const topic = input.topic?.trim() ?? '';
    if (topic === '' && input.namespace === undefined) {
      return fail('VALIDATION_FAILED', 'topic or namespace is required', { fields: ['topic', 'namespace'] });
    }
    const result = await call.services.store.query({
      kind: 'find-contradictions',
      topic: topic === '' ? null : topic,
      namespace: input.namespace ?? null,
      viewer: call.caller.viewer,
      now: call.now,
      limit: Math.min(input.limit, call.services.settings.pageSizeMax),
    });
    if (!result.ok) return failed(result.error);
    return ok({
      memories: await shownMemories(call, result.value.memories),
      links: result.value.links.map((link) => ({ ...link })),
      ...(result.value.truncated ? { truncated: true as const } : {}),
      ...omittedDamaged(result.value),
    });
  },
});
