import { z } from 'zod';
import { RECALLS_LIMIT, RECALLS_LIMIT_MAX } from '../../../protocol/base/ledger-limits.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { MEMORY_USES } from '../../../protocol/decide/used.js';
import { RECALL_OUTCOMES } from '../../../protocol/memory/queries.js';
import type { RecallJson, RecallPlace } from '../../../protocol/memory/recall-ledger.js';
import type { ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { cursorEnd, cursorField, pageCursor } from '../../pipeline/page-cursor.js';
import { recallFigures, recallsOf, shownFigures } from '../shared/recall-figures.js';

const recall = z.object({
  recall_id: z.string(),
  agent_id: z.string(),
  observed_at: z.string(),
  query: z.string().nullable().describe('Null where it was not kept, or went with an erasure'),
  namespace: z.string().nullable().describe('Where it searched; null for everywhere'),
  mode: z.string(),
  words_only: z.string().nullable().describe('Why it searched by words only'),
  rows: z.int().describe('Rows of its answer'),
  weak: z.boolean().nullable().describe('True where no row passed the least score, and weak ones came'),
  below_min_score: z.int().nullable(),
  used: z.int().nullable().describe('Rows that its agent used within the hour'),
  took_ms: z.int().nullable(),
  led_to: z.string().nullable().describe('The memory that was stored or linked with its recall_id'),
});

const memory = z.object({
  rank: z.int(),
  id: z.string(),
  title: z.string(),
  namespace: z.string(),
  score: z.number(),
  uses: z.array(z.enum(MEMORY_USES)),
});

const input = z.object({
  recall_id: z
    .string()
    .min(1)
    .max(36)
    .describe('Only this recall, with its rows; its beginning will do')
    .optional(),
  namespace: fields.namespaceOrSubtree.describe('Only recalls that named this').optional(),
  outcome: z.enum(RECALL_OUTCOMES).describe('Only those with rows, weak rows only, or none').optional(),
  used: z.boolean().describe('Only those of which something was used, or (false) nothing').optional(),
  agent_id: fields.agentId.describe('Only recalls of this agent').optional(),
  since: fields.pastBegin.describe('Only recalls since this RFC 3339 instant').optional(),
  until: fields.pastEnd.describe('Only recalls until this RFC 3339 instant').optional(),
  limit: fields.listLimit(RECALLS_LIMIT, RECALLS_LIMIT_MAX, 'recalls'),
  cursor: cursorField,
});

type Input = z.output<typeof input>;

/**
 * What was asked of recall, what it answered, and what of that was used. Callers see their own recalls; admins, and
 * local operators without SVC_AGENT_ID, see those of all.
 */
export const memoryRecalls = defineOperation({
  name: 'memory_recalls',
  family: 'meta',
  summary: 'List earlier recalls with what was asked, what came, and what of it was used.',
  input,
  output: z.object({
    recalls: z.array(recall).describe('The newest first'),
    count: z.int(),
    memories: z.array(memory).describe('The rows of one recall that the caller may see now').optional(),
    figures: shownFigures.describe('Over all recalls that the caller may list'),
    truncated: z.literal(true).describe('There are more').optional(),
    ...cursorEnd,
  }),
  effect: 'read',
  guards: {},
  http: [{ method: 'GET', path: '/recalls', fields: 'query', tag: 'none' }],
  mcp: {
    description: 'See what you asked of recall, how many rows came, and how many of them you used.',
    lines: {
      ...{ recall_id: 'One, with its rows', outcome: 'What came', used: 'Whether you used rows' },
      cursor: 'next_cursor of the page before',
    },
    omit: ['namespace', 'agent_id', 'since', 'until', 'limit'],
  },
  cli: {
    command: 'recalls',
    positionals: ['recall_id'],
    flags: { agent_id: 'by' },
    view: 'object',
    table: {
      ...{ observed_at: 'WHEN', query: 'QUERY', namespace: 'NAMESPACE', mode: 'MODE', rows: 'ROWS' },
      ...{ weak: 'WEAK', used: 'USED', took_ms: 'MS', recall_id: 'RECALL' },
      ...{ rank: 'RANK', score: 'SCORE', title: 'TITLE', uses: 'USED', id: 'MEMORY' },
    },
    examples: ['recalls', 'recalls --outcome none', 'recalls 3f2a'],
  },
  run: async (call, asked) => {
    const cursor = pageCursor<RecallPlace>(call, 'memory_recalls', asked);
    if (!cursor.ok) return cursor;
    const own = recallsOf(call);
    if (own !== null && asked.agent_id !== undefined && asked.agent_id !== own) {
      return fail('FORBIDDEN', 'only an admin lists the recalls of other agents: leave out agent_id');
    }
    const { store, touches } = call.services;
    // Recalls that this process has not written yet belong to the answer.
    await touches.flush();
    const listed = await store.query({
      ...{ kind: 'list-recalls', ...filterOf(asked), after: cursor.value.after },
      agentId: own ?? asked.agent_id ?? null,
      ...{ viewer: call.caller.viewer, now: call.now },
    });
    if (!listed.ok) return failed(listed.error);
    const { recalls, next } = listed.value;
    const rows = asked.recall_id === undefined ? ok({}) : await rowsOf(call, asked.recall_id, recalls);
    if (!rows.ok) return failed(rows.error);
    const figures = await recallFigures(call);
    if (!figures.ok) return failed(figures.error);
    return ok({
      recalls: recalls.map((each) => ({ ...each })),
      count: recalls.length,
      ...rows.value,
      figures: figures.value,
      ...(next === null ? {} : { truncated: true as const }),
      ...cursor.value.end({ next, nextOffset: null }),
    });
  },
});

const filterOf = (asked: Input) => ({
  recallId: asked.recall_id?.toLowerCase() ?? null,
  ...{ namespace: asked.namespace ?? null, outcome: asked.outcome ?? null, used: asked.used ?? null },
  ...{ since: asked.since ?? null, until: asked.until ?? null, limit: asked.limit },
});

/** The rows of the recall that an id or its beginning names. */
async function rowsOf(
  call: ReadCall,
  prefix: string,
  recalls: readonly RecallJson[],
): Promise<Result<object>> {
  const [one, other] = recalls;
  if (one === undefined) return fail('NOT_FOUND', `there is no recall ${prefix} that you may see`);
  if (other !== undefined)
    return fail('AMBIGUOUS_ID_PREFIX', `several recalls begin with ${prefix}: give more of the id`);
  const found = await call.services.store.query({
    ...{ kind: 'recalled-memories', recallId: one.recall_id },
    ...{ viewer: call.caller.viewer, now: call.now },
  });
  if (!found.ok) return failed(found.error);
  const memories = found.value.memories.map(({ uses, ...row }) => ({
    ...row,
    uses: uses.map(({ how }) => how),
  }));
  return ok({ memories });
}
