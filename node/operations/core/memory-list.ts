import { z } from 'zod';
import type { Instant } from '../../../protocol/base/meanings.js';
import { fail, failed, ok } from '../../../protocol/base/result.js';
import type { ListPlace, MemoryFilter } from '../../../protocol/memory/queries.js';
import type { ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { cursorField, cursorPageEnd, pageCursor } from '../../pipeline/page-cursor.js';
import { filterFields, filterFor, omittedDamaged, pageEnd } from '../shared/filter.js';
import { flaggedMemories, shownMemories } from '../shared/shown-memories.js';
import { emptyAbove } from './empty-above.js';

const BEFORE_EVERY_EXPIRY = '';

/** Lists memories by priority and newest update (interface §4.2, GET /memories). */
export const memoryList = defineOperation({
  name: 'memory_list',
  family: 'core',
  summary: 'List memories, highest priority and newest update first.',
  input: z.object({
    ...filterFields,
    known_at: fields.knownAt,
    cursor: cursorField,
    include_expired: z
      .boolean()
      .default(false)
      .describe('Also list memories that have expired and are not removed yet'),
    format: fields.format.default('json'),
  }),
  output: z.object({
    memories: z.array(fields.memoryOutput),
    count: z.int(),
    not_kept: z
      .int()
      .describe('With known_at: memories that changed since, whose version of then is not kept any more')
      .optional(),
    ...cursorPageEnd,
    ...fields.omittedDamaged,
    ...fields.namespacesBelow,
  }),
  effect: 'read',
  guards: {},
  delegable: 'by-namespace',
  rows: 'memories',
  http: [{ method: 'GET', path: '/memories', fields: 'query' }],
  mcp: {
    description:
      'Show everything in a namespace, page by page, highest priority and newest update first. For a question use memory_recall.',
    defaults: { format: 'toon_compact' },
  },
  cli: {
    command: 'list',
    short: { n: 'namespace', t: 'tier' },
    aliases: { kind: 'kinds' },
    flags: { agent_id: 'owner' },
    view: 'memories',
    examples: ['list --namespace team/alpha --limit 50'],
  },
  run: async (call, input) => {
    const cursor = pageCursor<ListPlace>(call, 'memory_list', input);
    if (!cursor.ok) return cursor;
    const filter = filterFor(call, input);
    if (input.known_at !== undefined) return listKnownAt(call, input, filter, input.known_at);
    const result = await call.services.store.query({
      kind: 'list-memories',
      filter: input.include_expired ? { ...filter, now: BEFORE_EVERY_EXPIRY } : filter,
      family: null,
      after: cursor.value.after,
    });
    if (!result.ok) return failed(result.error);
    const memories = await flaggedMemories(call, result.value.memories);
    const page = { ...cursor.value.end(result.value), ...omittedDamaged(result.value) };
    const below = memories.length === 0 ? await emptyAbove(call, filter.namespace) : {};
    return ok({ memories, count: memories.length, ...page, ...below });
  },
});

/** What was known at an instant; pages follow each other by their offset. */
async function listKnownAt(
  call: ReadCall,
  {
    cursor,
    include_expired: expired,
  }: { readonly cursor?: string | undefined; readonly include_expired: boolean },
  filter: MemoryFilter,
  knownAt: Instant,
) {
  if (cursor !== undefined || expired) {
    const field = expired ? 'include_expired' : 'cursor';
    return fail('VALIDATION_FAILED', `${field}: not with known_at, whose pages have an offset`, {
      fields: [field],
    });
  }
  const result = await call.services.store.query({ kind: 'memories-known-at', filter, knownAt });
  if (!result.ok) return failed(result.error);
  const { memories, nextOffset, notKept } = result.value;
  return ok({
    memories: await shownMemories(call, memories),
    count: memories.length,
    ...(notKept === 0 ? {} : { not_kept: notKept }),
    ...pageEnd(nextOffset),
  });
}
