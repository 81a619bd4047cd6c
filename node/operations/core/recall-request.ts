import { z } from 'zod';
import * as limits from '../../../protocol/base/limits.js';
import { ageSeconds, instantAfter } from '../../../protocol/base/time.js';
import { CONFIDENCE_TIERS } from '../../../protocol/memory/confidence.js';
import type { RecallFilter } from '../../../protocol/memory/recall-request.js';
import { RECALL_MIN_SCORE } from '../../../protocol/ranking/likelihood.js';
import type { ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { kindsOf } from '../shared/filter.js';
import { textChoice } from './shown-texts.js';

/** Each kind, and the word for all of them. */

/** The input of a recall (reference-http §4.1, reference-mcp-cli §1.2). */
export const recallInput = z.object({
  context: fields.queryText.describe('What to remember about'),
  namespace: fields.namespaceOrSubtree
    .describe('Search this namespace and its ancestors; with /** at its end, it and all below it')
    .optional(),
  limit: z
    .int()
    .optional()
    // Not a default of the schema: `session_default` fills in a limit only where the caller gave none.
    .meta({ default: limits.RECALL_LIMIT })
    .describe(`At most this many rows, up to ${limits.RECALL_LIMIT_MAX}`),
  min_score: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe(
      `Only rows at least this likely to answer, 0 for all; ${RECALL_MIN_SCORE} unless given, less for turns of conversations`,
    ),
  tags: fields.tagFilter.optional(),
  since: fields.pastBegin.describe('Only memories created since this RFC 3339 instant').optional(),
  until: fields.pastEnd.describe('Only memories created until this RFC 3339 instant').optional(),
  as_of: fields.asOf,
  as_agent: fields.namespace.describe('Read shared scopes as from this namespace').optional(),
  budget_tokens: z.int().min(0).describe('At most this many cl100k tokens of content').optional(),
  context_tokens: z
    .array(z.string().max(limits.QUERY_LENGTH_MAX))
    .max(256)
    .describe('Recent lines of the conversation, which count 30 % of the query')
    .optional(),
  kinds: fields.kindFilter.optional(),
  has_citations: z.boolean().describe('Only memories with citations').optional(),
  source_uri_prefix: fields.sourceUriPrefix.optional(),
  confidence_tier: z
    .enum(CONFIDENCE_TIERS)
    .describe('Only so sure ones, confirmed from 0.95, likely from 0.7')
    .optional(),
  include_archived: fields.includeArchived.optional(),
  session_id: fields.sessionId.optional(),
  session_default: z.boolean().describe('Fill in the configured scope where the call gives none').optional(),
  feature_tier: z
    .enum(['keyword', 'semantic', 'smart', 'autonomous'])
    .describe('What this recall may use: keyword does not use the embedder, the others use what the node has')
    .optional(),
  verbose_provenance: z.boolean().describe('Show confidence tier, freshness and attestation').optional(),
  accept_provenance: z.string().describe('verbose shows provenance').optional(),
  content: textChoice.optional(),
  format: fields.format.default('json'),
});

export type RecallInput = z.output<typeof recallInput>;

/**
 * Where a recall searches and how much it answers, with the values of `session_default`
 * (`[agents.defaults.recall_scope]`).
 */
export interface RecallScope {
  readonly namespace: string | null;
  readonly limit: number;
  readonly filter: RecallFilter;
}

export function recallScope(call: ReadCall, input: RecallInput): RecallScope {
  const { settings } = call.services;
  const filled = input.session_default === true;
  const age = filled && settings.recallScopeSince !== null ? ageSeconds(settings.recallScopeSince) : null;
  const limit = input.limit ?? (filled ? settings.recallScopeLimit : null) ?? limits.RECALL_LIMIT;
  return {
    namespace: input.namespace ?? (filled ? (settings.recallScopeNamespaces[0] ?? null) : null),
    // A limit below 1 becomes the default, a large one the cap (reference-http §4.1).
    limit: limit < 1 ? limits.RECALL_LIMIT : Math.min(limit, limits.RECALL_LIMIT_MAX),
    filter: {
      tags: input.tags ?? [],
      since: input.since ?? (age === null ? null : instantAfter(call.now, -age)),
      until: input.until ?? null,
      kinds: kindsOf(input.kinds),
      tier: filled ? settings.recallScopeTier : null,
      hasCitations: input.has_citations === true,
      sourceUriPrefix: input.source_uri_prefix ?? null,
      confidence: input.confidence_tier ?? null,
      includeArchived: input.include_archived === true,
      asOf: input.as_of ?? null,
    },
  };
}

/** The session of a recall; null where it names none. */
export const sessionOf = (call: ReadCall, { session_id: id }: RecallInput): string | null =>
  id === undefined ? null : sessionName(call, id);

/** A session belongs to its caller; callers without a name of their own share session names. */
export const sessionName = ({ caller: { agentId, claimed } }: ReadCall, id: string): string =>
  `${claimed === 'made' ? '' : agentId}\n${id}`;
