import { z } from 'zod';
import { ok } from '../../../protocol/base/result.js';
import { defineOperation } from '../../pipeline/operation.js';
import { recallFacts } from './capabilities/facts.js';
import { models } from './capabilities/features.js';

/** Counting a large store may take longer than the answer is worth. */
const COUNTED_WITHIN_MS = 1_000;

/** What the command `boot` says of the node besides the memories. */
export const bootFacts = defineOperation({
  name: 'memory_boot_facts',
  family: 'meta',
  summary: 'Say how the node recalls, and how much it holds.',
  input: z.object({}),
  output: z.object({
    tier: z.string(),
    embedder: z.string(),
    reranker: z.string(),
    llm: z.string(),
    schema: z.int().nullable(),
    total: z.int().nullable(),
  }),
  effect: 'read',
  guards: {},
  run: async (call) => {
    const { store } = call.services;
    const asked = { kind: 'store-stats', viewer: call.caller.viewer, now: call.now } as const;
    const [schema, stats] = await Promise.all([
      store.query({ kind: 'schema-version' }),
      store.query(asked, { timeoutMs: COUNTED_WITHIN_MS }),
    ]);
    const recall = recallFacts(call);
    const { embedding, cross_encoder, llm } = models(recall);
    return ok({
      tier: recall.tier,
      embedder: embedding,
      reranker: cross_encoder,
      llm,
      schema: schema.ok ? schema.value.version : null,
      total: stats.ok ? stats.value.total : null,
    });
  },
});
