import { z } from 'zod';
import * as limits from '../../../protocol/base/limits.js';
import { fail, failed, ok } from '../../../protocol/base/result.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import type { SemanticAbsence } from '../../semantics/semantic-index.js';

const nearestOutput = z.object({
  id: z.string(),
  title: z.string(),
  namespace: z.string(),
  similarity: z.number(),
});

const UNAVAILABLE: Readonly<Record<Exclude<SemanticAbsence, 'empty'>, string>> = {
  disabled: 'the embedder is switched off on this node',
  busy: 'the embedder is busy; try again',
  failing: 'the embedder fails; try again later',
  unreachable: 'no process that runs the embedder can be reached',
};

/** Looks for a memory that says the same (interface §4.4, POST /check_duplicate). Needs the embedder. */
export const memoryCheckDuplicate = defineOperation({
  name: 'memory_check_duplicate',
  family: 'power',
  summary: 'Look for a memory that says the same already.',
  input: z.object({
    title: fields.title,
    content: fields.content,
    namespace: fields.namespace.optional(),
    threshold: z
      .number()
      .min(0)
      .max(1)
      .default(limits.DUPLICATE_THRESHOLD)
      .describe('Similarity that makes a duplicate, 0 to 1; taken as 0.5 at least'),
  }),
  output: z.object({
    is_duplicate: z.boolean(),
    threshold: z.number(),
    nearest: nearestOutput.nullable(),
    suggested_merge: z.string().nullable(),
    candidates_scanned: z.int(),
  }),
  effect: 'read',
  guards: {},
  delegable: 'by-namespace',
  http: [{ method: 'POST', path: '/check_duplicate', fields: 'body' }],
  mcp: {
    description: 'Check whether a note already says the same as a title and text, before you store it.',
  },
  cli: {
    command: 'check-duplicate',
    short: { T: 'title', c: 'content', n: 'namespace' },
    stdin: ['content'],
    view: 'object',
    examples: ['check-duplicate --title "Deploy window" --content "Sundays at two"'],
  },
  run: async (call, input) => {
    const { semantic, settings, store } = call.services;
    const namespace = input.namespace ?? settings.defaultNamespace;
    const threshold = Math.max(input.threshold, limits.DUPLICATE_THRESHOLD_MIN);
    const { viewer } = call.caller;
    const evidence = await semantic.evidence({
      query: `${input.title} ${input.content}`,
      contextTokens: [],
      namespace,
      viewer,
      ...(call.deadlineMs === undefined ? {} : { deadlineMs: call.deadlineMs }),
    });
    if (typeof evidence === 'string' && evidence !== 'empty')
      return fail('UNAVAILABLE', UNAVAILABLE[evidence]);
    const found = await store.query({
      kind: 'nearest-memory',
      namespace,
      // Even without a vector, the same text may be stored word for word.
      queryVector: typeof evidence === 'string' ? new Float32Array() : evidence.queryVector,
      title: input.title,
      content: input.content,
      viewer,
      now: call.now,
    });
    if (!found.ok) return failed(found.error);
    const { nearest, scanned } = found.value;
    const isDuplicate = nearest !== null && nearest.similarity >= threshold;
    return ok({
      is_duplicate: isDuplicate,
      threshold,
      nearest:
        nearest === null
          ? null
          : { ...nearest, similarity: Math.round(Math.min(1, nearest.similarity) * 1000) / 1000 },
      suggested_merge: isDuplicate ? nearest.id : null,
      candidates_scanned: scanned,
    });
  },
});
