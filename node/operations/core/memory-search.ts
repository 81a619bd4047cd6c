import { z } from 'zod';
import { fail, failed, ok } from '../../../protocol/base/result.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { aroundOperation } from '../../pipeline/operation-hooks.js';
import { filterFields, filterFor, omittedDamaged, pageEnd } from '../shared/filter.js';
import { given } from '../shared/hooked.js';
import { shownMemories } from '../shared/shown-memories.js';
import { emptyAbove } from './empty-above.js';
import { Passages } from './passage.js';
import { sharedTexts, type TextChoice, textChoice, withText } from './shown-texts.js';

/** Finds memories that contain every word of a query (interface §4.3, GET /search). */
export const memorySearch = defineOperation({
  name: 'memory_search',
  family: 'core',
  summary: 'Find memories that contain every word of the query.',
  input: z.object({
    query: fields.queryText.describe('Words that the memory must contain').optional(),
    ...filterFields,
    as_agent: fields.namespace.describe('Namespace position from which shared scopes apply').optional(),
    source_uri: fields.sourceUri.describe('Only memories with this source_uri').optional(),
    include_archived: fields.includeArchived.optional(),
    content: textChoice.optional(),
    format: fields.format.default('json'),
  }),
  output: z.object({
    results: z.array(
      fields.memoryOutput.partial({ content: true }).and(
        z.looseObject({
          score: z
            .number()
            .describe('With content: how closely the words stand together in the title or text, 0 to 1')
            .optional(),
          passage: z.string().optional(),
        }),
      ),
    ),
    count: z.int(),
    ...fields.pageEnd,
    ...fields.omittedDamaged,
    ...fields.namespacesBelow,
    query: z.string().optional(),
    source_uri: z.string().optional(),
  }),
  effect: 'read',
  guards: {},
  delegable: 'by-namespace',
  rows: 'results',
  http: [{ method: 'GET', path: '/search', fields: 'query', aliases: { q: 'query' } }],
  mcp: {
    description:
      'Find the notes that contain every word of a query exactly, such as an error code or a name. For a question use memory_recall.',
    defaults: { format: 'toon_compact' },
    toonDefaults: { content: 'passage' },
  },
  cli: {
    command: 'search',
    positionals: ['query'],
    short: { n: 'namespace', t: 'tier' },
    aliases: { kind: 'kinds' },
    flags: { agent_id: 'owner' },
    view: 'memories',
    examples: ['search "deploy window"'],
  },
  hooks: aroundOperation({
    pre: [
      {
        event: 'pre_search',
        firings: ({ query, namespace, limit, tags }: Asked) => [
          { namespace: namespace ?? null, payload: given({ query, namespace, limit, tags }) },
        ],
        apply: (asked, delta) => ({ ...asked, ...delta }),
      },
    ],
    post: [
      {
        event: 'post_search',
        firings: ({ answer, input: { query = '', namespace } }) => [
          { namespace: namespace ?? null, payload: { query, memories: answer['results'] } },
        ],
      },
    ],
  }),
  run: async (call, input) => {
    const query = input.query?.trim() ?? '';
    if (query === '' && input.source_uri === undefined) {
      return fail('VALIDATION_FAILED', 'query is required', { fields: ['query'] });
    }
    const filter = filterFor(call, input);
    const result = await call.services.store.query({
      kind: 'search-memories',
      query,
      filter: { ...filter, viewer: { ...filter.viewer, asNamespace: input.as_agent ?? null } },
      sourceUri: input.source_uri ?? null,
      includeArchived: input.include_archived === true,
    });
    if (!result.ok) return failed(result.error);
    const results = await shownMemories(call, result.value.memories);
    const below = results.length === 0 ? await emptyAbove(call, filter.namespace) : {};
    return ok({
      results: withTexts(results, query, input.content),
      count: results.length,
      ...pageEnd(result.value.nextOffset),
      ...omittedDamaged(result.value),
      ...below,
      // The answer names the query: without words, the source (reference-http §1, row 14).
      ...(query === '' ? { source_uri: input.source_uri } : { query }),
    });
  },
});

/** So much of a query decides which part of a text is shown: each of its words is looked for in each row of a page. */
const MARKED_QUERY_LENGTH = 512;

/** The rows with the text that the caller wants, and how well each fits; as they are where the caller says nothing. */
function withTexts<R extends { readonly title: string; readonly content: string }>(
  rows: readonly R[],
  query: string,
  wanted: TextChoice | undefined,
): R[] {
  if (wanted === undefined) return [...rows];
  const passages = new Passages(query.slice(0, MARKED_QUERY_LENGTH));
  const contents = rows.map(({ content }) => content);
  const texts =
    wanted === 'passage'
      ? sharedTexts(passages, contents, { budget: null, ranked: false })
      : contents.map((text) => ({ text, whole: true }));
  return rows.map((row, at) => {
    const score = Math.round(passages.closeness(row.title, row.content) * 1000) / 1000;
    return { ...withText(row, texts[at]!, wanted), score } as never;
  });
}

interface Asked {
  readonly query?: string | undefined;
  readonly namespace?: string | undefined;
  readonly limit?: number | undefined;
  readonly tags?: unknown;
}
