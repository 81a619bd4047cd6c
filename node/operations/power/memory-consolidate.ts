import { z } from 'zod';
import * as limits from '../../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { instantAfter } from '../../../protocol/base/time.js';
import {
  type ConsolidateMemories,
  type ConsolidateMemoriesOutcome,
  notFoundOf,
} from '../../../protocol/lifecycle/consolidate.js';
import { mayChange } from '../../../protocol/memory/access.js';
import type { MemoryRow, Tier } from '../../../protocol/memory/memory.js';
import { notOwner } from '../../../protocol/memory/update.js';
import { ttlSecondsOf } from '../../config/life-policy.js';
import { askModel } from '../../pipeline/ask-model.js';
import type { Call, ReadCall } from '../../pipeline/call.js';
import { consulted } from '../../pipeline/consulted.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { aroundOperation } from '../../pipeline/operation-hooks.js';
import { carriedTexts } from '../shared/carried-texts.js';
import { given } from '../shared/hooked.js';
import { readMemory, resolveId } from '../shared/resolve-id.js';
import { summaryQuestion } from '../shared/summary-question.js';

const PREVIEW_LENGTH = 200;
const BEFORE = 'pre_consolidate';

const input = z.object({
  ids: z
    .array(fields.memoryId)
    .min(limits.CONSOLIDATE_IDS_MIN)
    .max(limits.CONSOLIDATE_IDS_MAX)
    .describe('Ids of the memories to join, 2 to 100'),
  title: fields.title,
  summary: fields.content.describe('Text of the new memory; made from the sources unless given').optional(),
  namespace: fields.namespace.optional(),
  tier: fields.tier.default('long'),
  use_llm: z
    .boolean()
    .describe('Have a chat model write the summary; unless given, where one is configured')
    .optional(),
});

/** Joins memories into one and archives them, all or nothing (interface §4.4, POST /consolidate). */
export const memoryConsolidate = defineOperation({
  name: 'memory_consolidate',
  family: 'power',
  summary: 'Join memories into one; the originals go to the archive.',
  input,
  output: z.object({
    id: z.string(),
    consolidated: z.int(),
    summary: z.string(),
    content: z.string(),
    memory: z.object({
      id: z.string(),
      title: z.string(),
      content: z.string(),
      namespace: z.string(),
    }),
    auto_summary: z.boolean().optional(),
  }),
  effect: 'write',
  placed: async (call, asked) => placeOf(call, asked),
  carries: async (call, asked) => await carriedTexts(call, asked.ids, placeOf(call, asked)),
  openWorld: true,
  overwrites: true,
  guards: { attestation: 'by-name' },
  http: [{ method: 'POST', path: '/consolidate', fields: 'body', status: 201 }],
  mcp: {
    description: 'Merge several memories into one summary; the originals go to the archive.',
    // The whole answer would contain the text three times (reference-mcp-cli §1.2).
    shape: ({ id, consolidated, auto_summary, summary }) => ({
      id,
      consolidated,
      ...(auto_summary === true
        ? { auto_summary, summary_preview: [...String(summary)].slice(0, PREVIEW_LENGTH).join('') }
        : {}),
    }),
    output: z.object({
      id: z.string(),
      consolidated: z.int(),
      auto_summary: z.literal(true).optional(),
      summary_preview: z.string().optional(),
    }),
  },
  cli: {
    command: 'consolidate',
    positionals: ['ids'],
    short: { T: 'title', s: 'summary', n: 'namespace', t: 'tier' },
    stdin: ['summary'],
    shape: ({ id, consolidated }) => ({ id, consolidated }),
    view: 'message',
    message: (output) => `consolidated ${output['consolidated']} memories: ${output['id']}`,
    examples: ['consolidate 3f2a,9b1c --title "Deploy rules"'],
  },
  hooks: aroundOperation({
    pre: [
      {
        event: BEFORE,
        firings: (fieldsIn: Input, _seen, call) => {
          const namespace = placeOf(call, fieldsIn);
          return [{ namespace, payload: { namespace, candidate_ids: fieldsIn.ids } }];
        },
        apply: (asked, { candidate_ids, ...delta }) => ({
          ...{ ...asked, ...delta },
          ...(candidate_ids === undefined ? {} : { ids: candidate_ids }),
        }),
      },
      {
        event: 'pre_store',
        firings: (fieldsIn: Input, _seen, call) => {
          const { title, summary: content, tier } = fieldsIn;
          const namespace = placeOf(call, fieldsIn);
          return [{ namespace, payload: given({ tier, namespace, title, content }) }];
        },
        apply: (asked, { title, content: summary, tier }) => ({
          ...asked,
          ...given({ title, summary, tier }),
        }),
      },
    ],
  }),
  run: async (call, fieldsIn) => {
    const ids = await resolveIds(call, fieldsIn.ids);
    if (!ids.ok) return failed(ids.error);
    const written = await writtenSummary(call, ids.value, fieldsIn);
    if (!written.ok) return failed(written.error);
    const result = await call.services.store.execute(
      consolidation(call, {
        ids: ids.value,
        title: fieldsIn.title,
        ...written.value,
        namespace: fieldsIn.namespace ?? call.services.settings.defaultNamespace,
        tier: fieldsIn.tier,
        onConflict: 'error',
      }),
    );
    if (!result.ok) return failed(result.error);
    const { memory, consolidated } = result.value;
    const { id, title, content, namespace } = memory;
    return ok({
      id,
      consolidated,
      summary: content,
      content,
      memory: { id, title, content, namespace },
      ...(fieldsIn.summary === undefined ? { auto_summary: true } : {}),
    });
  },
});

type Input = z.output<typeof input>;

const placeOf = (call: Pick<ReadCall, 'services'>, { namespace }: Input): string =>
  namespace ?? call.services.settings.defaultNamespace;

/** What the model is to make of memories that become one. */
const SUMMARY_RULES = {
  feature: 'consolidate',
  system:
    'You join notes into one. Write one note that keeps every fact, name, number and decision of all of them, without repetitions, in their language. Write its text only, without a heading.',
  maxTokens: 1500,
} as const;

type WrittenSummary = Pick<ConsolidateMemories, 'summary' | 'versions'>;

/** The summary of the caller, or of the chat model with the versions that it read, or none, so that a plain one is made. */
async function writtenSummary(
  call: Call,
  ids: readonly string[],
  { summary, use_llm }: Input,
): Promise<Result<WrittenSummary>> {
  if (summary !== undefined) return ok({ summary });
  const missing = call.services.models.missing('consolidate');
  if (use_llm === true && missing !== null) return failed(missing);
  if (use_llm === false || missing !== null) return ok({ summary: null });
  const rows: MemoryRow[] = [];
  for (const id of ids) {
    const found = await readMemory(call, id);
    if (!found.ok) return failed(found.error);
    // Nothing is sent of what the caller may not join.
    if (!mayChange(found.value, call.caller.viewer)) return notOwner(found.value, call.caller.viewer);
    rows.push(found.value);
  }
  const asked = await askModel(call, summaryQuestion(rows, SUMMARY_RULES));
  if (!asked.ok) return failed(asked.error);
  return ok({ summary: asked.value, versions: rows.map(({ version }) => version) });
}

/** The input of a consolidation. */
interface ConsolidationRequest
  extends Pick<ConsolidateMemories, 'ids' | 'summary' | 'versions' | 'onConflict'> {
  readonly title: string;
  readonly namespace: string;
  readonly tier: Tier;
}

/** The command for the consolidation of this call. */
export function consolidation(call: Call, request: ConsolidationRequest): ConsolidateMemories {
  const { services, caller } = call;
  const { ids, summary, versions, onConflict, title, namespace, tier } = request;
  const seconds = ttlSecondsOf(services.settings)[tier];
  return {
    kind: 'consolidate-memories',
    ids,
    result: {
      id: services.random.uuid(),
      title,
      namespace,
      tier,
      expiresAt: seconds === null ? null : instantAfter(call.now, seconds),
    },
    summary,
    ...(versions === undefined ? {} : { versions }),
    onConflict,
    agentId: caller.agentId,
    viewer: caller.viewer,
    archive: services.settings.archiveOnGc,
  };
}

/** Joins one group of several, after the hooks before it, which decide and rewrite nothing. */
export async function hookedConsolidation(
  call: Call,
  command: ConsolidateMemories,
): Promise<Result<ConsolidateMemoriesOutcome>> {
  const { ids, result: made } = command;
  const { namespace } = made;
  const denial = await consulted(call, BEFORE, { namespace, payload: { namespace, candidate_ids: ids } });
  return denial === null ? await call.services.store.execute(command) : failed(denial);
}

/** Full ids, each once; NOT_FOUND names those that are unknown as they were given. */
async function resolveIds(call: Call, given: readonly string[]): Promise<Result<string[]>> {
  const ids = new Set<string>();
  const missing: string[] = [];
  for (const id of new Set(given)) {
    const found = await resolveId(call, id);
    if (found.ok) ids.add(found.value);
    else if (found.error.code === 'NOT_FOUND') missing.push(id);
    else return failed(found.error);
  }
  if (missing.length > 0) return notFoundOf(missing);
  if (ids.size < limits.CONSOLIDATE_IDS_MIN) {
    return fail('VALIDATION_FAILED', `ids: at least ${limits.CONSOLIDATE_IDS_MIN} different memories`, {
      fields: ['ids'],
    });
  }
  return ok([...ids]);
}
