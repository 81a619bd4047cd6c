import { z } from 'zod';
import { failed, ok } from '../../protocol/result.js';
import * as fields from '../pipeline/fields.js';
import { defineOperation } from '../pipeline/operation.js';
import { filterFields, filterFor, omittedDamaged, pageEnd } from './filter.js';
import { shownMemories } from './shown-memories.js';

/** Lists memories by priority and newest update (interface §4.2, GET /memories). */
export const memoryList = defineOperation({
  name: 'memory_list',
  family: 'core',
  summary: 'List memories, highest priority and newest update first.',
  core: true,
  input: z.object({ ...filterFields, format: fields.format.default('json') }),
  output: z.object({
    memories: z.array(fields.memoryOutput),
    count: z.int(),
    ...fields.pageEnd,
    ...fields.omittedDamaged,
  }),
  effect: 'read',
  guards: {},
  rows: 'memories',
  http: [{ method: 'GET', path: '/memories', fields: 'query' }],
  mcp: { description: 'List memories', defaults: { format: 'toon_compact' } },
  cli: {
    command: 'list',
    short: { n: 'namespace', t: 'tier' },
    view: 'memories',
    examples: ['list --namespace team/alpha --limit 50'],
  },
  run: async (call, input) => {
    const result = await call.services.store.query({
      kind: 'list-memories',
      filter: filterFor(call, input),
      family: null,
    });
    if (!result.ok) return failed(result.error);
    const memories = await shownMemories(call, result.value.memories);
    const page = { ...pageEnd(result.value.nextOffset), ...omittedDamaged(result.value) };
    return ok({ memories, count: memories.length, ...page });
  },
});
