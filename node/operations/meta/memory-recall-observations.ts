import { z } from 'zod';
import * as limits from '../../../protocol/base/ledger-limits.js';
import { fail, failed, ok } from '../../../protocol/base/result.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';

/**
 * The answers of earlier recalls, newest first, and which of them led to a memory (reference-mcp-cli §6.8). Callers see
 * their own recalls; admins, and local operators without SVC_AGENT_ID, see those of all.
 */
export const memoryRecallObservations = defineOperation({
  name: 'memory_recall_observations',
  family: 'meta',
  summary: 'List the answers of earlier recalls, newest first.',
  input: z.object({
    recall_id: fields.recallId.optional(),
    consumed: z.boolean().describe('Only those that led to a memory, or (false) that did not').optional(),
    unconsumed: z.boolean().describe('Only those that led to no memory').optional(),
    since: fields.pastBegin.describe('Only recalls since this RFC 3339 instant').optional(),
    until: fields.pastEnd.describe('Only recalls until this RFC 3339 instant').optional(),
    limit: z
      .int()
      .min(1)
      .default(limits.OBSERVATIONS_LIMIT)
      .describe(`At most this many rows, up to ${limits.OBSERVATIONS_LIMIT_MAX}`),
  }),
  output: z.object({
    observations: z.array(
      z.object({
        recall_id: z.string(),
        memory_id: z.string(),
        retriever: z.string(),
        rank: z.int(),
        score: z.number(),
        consumed: z.boolean(),
        observed_at: z.string(),
        consumed_at: z.string().optional(),
        consumed_by_memory_id: z.string().optional(),
      }),
    ),
    count: z.int(),
    ...fields.listEnd,
  }),
  effect: 'read',
  guards: {},
  http: [{ method: 'POST', path: '/memory_recall_observations', fields: 'body', omit: ['unconsumed'] }],
  mcp: { description: 'List what earlier recalls answered, and which rows were used.', omit: ['unconsumed'] },
  cli: {
    command: 'recall-observations',
    view: 'object',
    table: {
      observed_at: 'WHEN',
      recall_id: 'RECALL',
      rank: 'RANK',
      memory_id: 'MEMORY',
      score: 'SCORE',
      retriever: 'RETRIEVER',
      consumed_by_memory_id: 'LED TO',
    },
    examples: ['recall-observations --unconsumed --limit 20'],
  },
  run: async (call, input) => {
    if (input.consumed !== undefined && input.unconsumed !== undefined) {
      return fail('VALIDATION_FAILED', 'consumed and unconsumed contradict each other', {
        fields: ['consumed', 'unconsumed'],
      });
    }
    const { store, touches } = call.services;
    // Observations that this process has not written yet belong to the answer.
    await touches.flush();
    const { caller } = call;
    const result = await store.query({
      kind: 'recall-observations',
      recallId: input.recall_id ?? null,
      consumed: input.consumed ?? (input.unconsumed === undefined ? null : !input.unconsumed),
      since: input.since ?? null,
      until: input.until ?? null,
      limit: Math.min(input.limit, limits.OBSERVATIONS_LIMIT_MAX),
      agentId: caller.viewer.all || caller.admin ? null : caller.agentId,
      viewer: caller.viewer,
      now: call.now,
    });
    if (!result.ok) return failed(result.error);
    const observations = result.value.observations.map((row) => ({ ...row }));
    return ok({ observations, count: observations.length });
  },
});
