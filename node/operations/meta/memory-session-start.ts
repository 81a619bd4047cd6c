import { z } from 'zod';
import * as limits from '../../../protocol/base/limits.js';
import { SESSION_SUMMARY_MS } from '../../../protocol/base/model-limits.js';
import { failed, ok } from '../../../protocol/base/result.js';
import type { MemoryRow } from '../../../protocol/memory/memory.js';
import { askModel } from '../../pipeline/ask-model.js';
import type { ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { applyBudget } from '../../semantics/budget.js';
import { attachedOutput, attachedStandards, standardsOf } from '../core/attached-standards.js';
import { emptyAbove } from '../core/empty-above.js';
import { sessionName } from '../core/recall-request.js';
import { omittedDamaged } from '../shared/filter.js';
import { shownMemories } from '../shared/shown-memories.js';
import { summaryQuestion } from '../shared/summary-question.js';
import { type SessionRow, sessionRows } from './session-rows.js';

const input = z.object({
  namespace: fields.namespaceOrSubtree.optional(),
  limit: fields.listLimit(limits.SESSION_START_LIMIT, limits.SESSION_START_LIMIT_MAX),
  budget_tokens: z
    .int()
    .min(1)
    .default(limits.SESSION_START_TOKENS)
    .describe('At most this many cl100k tokens of content; the first row is always there'),
  content: z
    .enum(['full', 'none'])
    .default('full')
    .describe('Text beside each title: the full content, or none'),
  format: fields.format.default('json'),
});

type Input = z.output<typeof input>;

/** What an agent should know when it begins: standards, and the rows that are most important and newest (interface §4.12). */
export const memorySessionStart = defineOperation({
  name: 'memory_session_start',
  family: 'meta',
  summary: 'Begin a session: the standards, and the most important and newest memories without repetitions.',
  input,
  output: z.object({
    memories: z.array(
      fields.memoryOutput.partial({ content: true }).and(
        z.looseObject({
          score: z.number().describe('Always 0: nothing was asked'),
          similar_count: z.int().describe('Memories that say nearly the same and are left out').optional(),
          similar_ids: z.array(z.string()).describe('Some of these').optional(),
        }),
      ),
    ),
    count: z.int(),
    mode: z.literal('session_start'),
    session_id: z.string().describe('For the recalls of the session, which then prefer these rows'),
    agent_id: z.string().describe('The caller, where it has a name').optional(),
    tokens_used: z.int(),
    budget_tokens: z.int(),
    truncated: z.literal(true).describe('There are more rows than the budget holds').optional(),
    summary: z.string().describe('What the rows say, by the chat model').optional(),
    ...attachedOutput,
    ...fields.omittedDamaged,
    ...fields.namespacesBelow,
  }),
  effect: 'read',
  openWorld: true,
  guards: {},
  rows: 'memories',
  http: [{ method: 'POST', path: '/session/start', fields: 'body' }],
  mcp: {
    description:
      'Load context when a new session is starting: the standards, and the most important and newest memories. Then recall what the task needs.',
    defaults: { format: 'toon_compact' },
    toonDefaults: { content: 'full' },
  },
  run: sessionStart,
});

async function sessionStart(call: ReadCall, asked: Input) {
  const namespace = asked.namespace ?? null;
  const { caller, services } = call;
  const [found, pinned] = await Promise.all([
    sessionRows(call, { namespace, limit: asked.limit }),
    standardsOf(call, namespace, caller.viewer),
  ]);
  if (!found.ok) return failed(found.error);
  const standards = await attachedStandards(call, pinned, asked.budget_tokens);
  if (!standards.ok) return failed(standards.error);
  const { attached, tokens: spent } = standards.value;
  const counted = await withinBudget(call, found.value.rows, asked, spent);
  if (!counted.ok) return failed(counted.error);
  const { rows, tokensUsed } = counted.value;
  const listed = rows.map(({ memory }) => memory);
  const [memories, summary] = await Promise.all([
    shownMemories(call, listed),
    asked.content === 'none' ? {} : summaryOf(call, listed),
  ]);
  const session = services.random.uuid();
  services.recallSessions.add(
    sessionName(call, session),
    rows.map(({ memory }) => memory.rid),
  );
  return ok({
    memories: memories.map((memory, index) => {
      const { content, ...shown } = memory as Record<string, unknown>;
      const text = asked.content === 'none' ? {} : { content };
      return { ...shown, ...text, score: 0, ...similarTo(rows[index]!) } as never;
    }),
    count: memories.length,
    mode: 'session_start' as const,
    session_id: session,
    ...(caller.claimed === 'made' ? {} : { agent_id: caller.agentId }),
    tokens_used: tokensUsed,
    budget_tokens: asked.budget_tokens,
    ...(rows.length < found.value.rows.length ? { truncated: true as const } : {}),
    ...summary,
    ...attached,
    ...omittedDamaged(found.value),
    ...(memories.length === 0 ? await emptyAbove(call, namespace) : {}),
  });
}

const SUMMARY_RULES = {
  feature: 'session_start',
  system:
    'You brief an agent at the start of its work. Say in at most five short sentences what the notes hold that matters most, in their language, without a heading.',
  maxTokens: 300,
} as const;

/** What the chat model makes of the rows; nothing where there is none, or when it is late or fails. */
async function summaryOf(call: ReadCall, memories: readonly MemoryRow[]): Promise<{ summary?: string }> {
  const { models, clock } = call.services;
  if (memories.length === 0 || models.missing('session_start') !== null) return {};
  const untilMs = clock.monotonicMs() + SESSION_SUMMARY_MS;
  const deadlineMs = Math.min(untilMs, call.deadlineMs ?? untilMs);
  const summary = await askModel({ ...call, deadlineMs }, summaryQuestion(memories, SUMMARY_RULES));
  return summary.ok ? { summary: summary.value } : {};
}

/** The rows whose text fits; without a text nothing is counted. */
async function withinBudget(
  { services }: ReadCall,
  rows: readonly SessionRow[],
  { content, budget_tokens: budget }: Input,
  spent: number,
) {
  if (content === 'none') return ok({ rows, tokensUsed: spent });
  const counted = await services.tokens.counts(
    rows.map(({ memory }) => memory.content),
    budget - spent,
  );
  return counted.ok ? ok(applyBudget(rows, budget, counted.value, spent)) : counted;
}

const similarTo = ({ similar }: SessionRow) =>
  similar.length === 0
    ? {}
    : { similar_count: similar.length, similar_ids: similar.slice(0, limits.SIMILAR_NAMED_MAX) };
