import { z } from 'zod';
import { hasControlCharacter } from '../../../protocol/base/ids.js';
import { failed, ok } from '../../../protocol/base/result.js';
import { characters } from '../../../protocol/base/utf8.js';
import { dataBlocks } from '../../models/data-blocks.js';
import type { Question } from '../../models/models.js';
import { linesAnswer } from '../../models/read-answer.js';
import { askModel } from '../../pipeline/ask-model.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';

const TERMS_MAX = 20;
const TERM_LENGTH_MAX = 64;
const ANSWER_TOKENS = 300;

const SYSTEM = `You help to search notes by their words. Write other words and short phrases with which a note that answers the query may say the same, at most ${TERMS_MAX}, one for each line, in the language of the query, without any other words.`;

/** Asks for terms that mean the same as a query. */
const expansionQuestion = (query: string): Question<readonly string[]> => ({
  feature: 'expand_query',
  system: SYSTEM,
  prompt: dataBlocks([{ label: 'query', text: query }]),
  maxTokens: ANSWER_TOKENS,
  read: linesAnswer({
    itemsMax: TERMS_MAX,
    item: (line) => {
      const isTerm = line !== '' && characters(line) <= TERM_LENGTH_MAX && !hasControlCharacter(line);
      return isTerm ? line : null;
    },
    none: `it has no term: write each on a line of its own, with ${TERM_LENGTH_MAX} characters at most.`,
  }),
});

const output = z.object({
  original: z.string(),
  expanded_terms: z.array(z.string()),
  elapsed_ms: z.int(),
});

/** Finds further words for a query (interface §4.12, POST /expand_query). */
export const memoryExpandQuery = defineOperation({
  name: 'memory_expand_query',
  family: 'power',
  summary: 'Have a chat model find further words for a query.',
  input: z.object({
    query: fields.queryText
      .refine((query) => query.trim() !== '', 'must not be blank')
      .describe('The query to expand'),
    namespace: fields.namespace.optional(),
  }),
  output,
  effect: 'read',
  openWorld: true,
  guards: {},
  http: [
    {
      method: 'POST',
      path: '/expand_query',
      fields: 'body',
      shape: ({ original, expanded_terms }) => ({ original, expanded_terms }),
      output: output.omit({ elapsed_ms: true }),
    },
  ],
  mcp: {
    description: 'Have a chat model suggest further words for a query.',
    omit: ['namespace'],
    shape: ({ original, expanded_terms }) => ({ original, expanded_terms }),
    output: z.object({ original: z.string(), expanded_terms: z.array(z.string()) }),
  },
  cli: {
    command: 'expand',
    positionals: ['query'],
    omit: ['namespace'],
    shape: ({ original: query, expanded_terms, elapsed_ms }) => ({ query, expanded_terms, elapsed_ms }),
    view: 'object',
    examples: ['expand "deploy window"'],
  },
  run: async (call, { query }) => {
    const { clock } = call.services;
    const startMs = clock.monotonicMs();
    const asked = await askModel(call, expansionQuestion(query));
    if (!asked.ok) return failed(asked.error);
    const elapsed_ms = Math.round(clock.monotonicMs() - startMs);
    return ok({ original: query, expanded_terms: [...asked.value], elapsed_ms });
  },
});
