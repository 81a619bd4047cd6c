import { z } from 'zod';
import { failed, ok } from '../../../protocol/base/result.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { recallFigures, shownFigures } from '../shared/recall-figures.js';

/** Counts of the whole store (interface §4.1, GET /stats). */
export const memoryStats = defineOperation({
  name: 'memory_stats',
  family: 'meta',
  summary: 'Count the memories by tier and namespace.',
  input: z.object({}),
  output: z.object({
    total: z.int(),
    by_tier: z.array(z.object({ tier: z.string(), count: z.int() })),
    by_namespace: z.array(fields.namespaceCount),
    expiring_soon: z.int(),
    links_count: z.int(),
    db_size_bytes: z.int(),
    recalls: shownFigures.describe('Of the recalls that the caller may list').optional(),
  }),
  effect: 'read',
  guards: { admin: true },
  delegable: 'by-namespace',
  http: [{ method: 'GET', path: '/stats', fields: 'query' }],
  mcp: { description: 'Say how many memories there are, by tier and namespace.' },
  cli: { command: 'stats', view: 'object', examples: ['stats'] },
  run: async (call) => {
    const result = await call.services.store.query({
      kind: 'store-stats',
      viewer: call.caller.viewer,
      now: call.now,
    });
    if (!result.ok) return failed(result.error);
    const { by_tier, by_namespace, ...counts } = result.value;
    // A token for some namespaces counts nothing of the others, and recalls look at several.
    const figures = call.caller.viewer.within === undefined ? await recallFigures(call) : null;
    if (figures !== null && !figures.ok) return failed(figures.error);
    const recalls = figures === null ? {} : { recalls: figures.value };
    return ok({ ...counts, ...recalls, by_tier: [...by_tier], by_namespace: [...by_namespace] });
  },
});
