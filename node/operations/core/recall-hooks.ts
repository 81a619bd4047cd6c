import { aroundOperation } from '../../pipeline/operation-hooks.js';
import { given } from '../shared/hooked.js';
import { type RecallInput, recallScope } from './recall-request.js';

/**
 * The events around a recall. The tier of a recall query is how it searches, as on the command line. A denied recall is
 * empty, and says why (reference-mcp-cli §3.2).
 */
export const recallHooks = aroundOperation<RecallInput>({
  pre: [
    {
      event: 'pre_recall',
      firings: (input, _seen, call) => {
        const { namespace } = recallScope(call, input);
        const { context: query, limit, feature_tier: tier, tags, budget_tokens } = input;
        const payload = given({ query, namespace: namespace ?? undefined, limit, tier, tags, budget_tokens });
        return [{ namespace, payload }];
      },
      apply: (asked, { query, tier, ...delta }) => ({
        ...{ ...withQuery(asked, query), ...delta },
        ...(tier === undefined ? {} : { feature_tier: tier }),
      }),
    },
    {
      event: 'pre_recall_expand',
      firings: (input, _seen, call) => {
        const { namespace, limit } = recallScope(call, input);
        return [
          {
            namespace,
            payload: given({ query: input.context, namespace: namespace ?? undefined, k: limit }),
          },
        ];
      },
      apply: (asked, { query, k, ...delta }) => ({
        ...{ ...withQuery(asked, query), ...delta },
        ...(k === undefined ? {} : { limit: k }),
      }),
    },
  ],
  post: [
    {
      event: 'post_recall',
      firings: ({ answer: { memories, tokens_used }, input, call }) => [
        {
          namespace: recallScope(call, input).namespace,
          payload: { query: input.context, memories, tokens_used },
        },
      ],
    },
  ],
  denied: (call, { budget_tokens }, { reason, code }) => ({
    memories: [],
    count: 0,
    mode: 'denied_by_hook',
    tokens_used: 0,
    ...(budget_tokens === undefined ? {} : { budget_tokens }),
    recall_id: call.services.random.uuid(),
    note: `a hook denies this recall: ${reason}`,
    meta: { recall_mode: 'denied_by_hook', diagnostic: { pre_recall_denied: { reason, code } } },
  }),
});

type Fields = Readonly<Record<string, unknown>>;

/** The fields with another query, where a hook rewrote it. */
const withQuery = (asked: Fields, query: unknown): Fields =>
  query === undefined ? asked : { ...asked, context: query };
