import { z } from 'zod';
import * as limits from '../../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { FAMILIES, type Family, familyOf } from '../../config/tool-families.js';
import type { ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { omittedDamaged } from '../shared/filter.js';
import { shownMemories } from '../shared/shown-memories.js';
import { chooseFamily } from './choose-family.js';

const k = z
  .int()
  .default(limits.LOAD_FAMILY_LIMIT)
  .transform((value) => Math.min(Math.max(value, 1), limits.LOAD_FAMILY_LIMIT_MAX))
  .describe('At most this many memories, 1 to 100');

/** The first word of a text that asks or looks for something. */
const ASKS =
  /^(?:who|what|when|where|which|why|how|whose|is|are|was|were|do|does|did|can|has|have|find|search|recall|remember|tell)\b/iu;

const asksSomething = (intent: string): boolean =>
  /[?\uff1f\u061f]/u.test(intent) || ASKS.test(intent.trim());

const HINT =
  'these are only the memories filed under a tool family (metadata.family); memory_recall with the question as its context looks through all memories';

/** Leads a caller who wanted to recall something to the tool for it. */
const hintOf = (count: number, asked = false) => (count === 0 || asked ? { hint: HINT } : {});

const loaded = {
  namespace: z.string().nullable(),
  k: z.int(),
  count: z.int(),
  memories: z.array(fields.memoryOutput),
  truncated: z.literal(true).optional(),
  hint: z
    .string()
    .describe('The tool to use instead, where the answer is empty or the intent a question')
    .optional(),
  ...fields.omittedDamaged,
};

/**
 * Loads memories whose `metadata.family` names a tool family. It does not change the offered tools: only the profile
 * does (reference-mcp-cli §1.2, §7).
 */
export const memoryLoadFamily = defineOperation({
  name: 'memory_load_family',
  family: 'core',
  summary: 'List the memories filed under a tool family; it recalls nothing.',
  input: z.object({
    family: z.string().describe(`One of ${FAMILIES.join(', ')}`),
    namespace: fields.namespace.optional(),
    k,
  }),
  output: z.object({ family: z.string(), ...loaded }),
  effect: 'read',
  guards: {},
  delegable: 'by-namespace',
  http: [{ method: 'POST', path: '/memory_load_family', fields: 'body' }],
  mcp: {
    description:
      'Not a search: list only the memories whose metadata.family is one of the eight families of tools here.',
  },
  run: async (call, input) => {
    const family = familyOf(input.family);
    if (family === undefined) {
      return fail(
        'VALIDATION_FAILED',
        `unknown family '${input.family}'. Valid families: ${FAMILIES.join(', ')}`,
        { fields: ['family'] },
      );
    }
    const rows = await load(call, family, input.namespace, input.k);
    return rows.ok ? ok({ family, ...rows.value, ...hintOf(rows.value.count) }) : failed(rows.error);
  },
});

/** Chooses the family that fits an intent and loads its memories (reference-mcp-cli §1.2). */
export const memorySmartLoad = defineOperation({
  name: 'memory_smart_load',
  family: 'core',
  summary:
    'Choose the tool family that fits an intent and list the memories filed under it; it recalls nothing.',
  input: z.object({
    intent: fields.queryText.describe('What you are about to do'),
    namespace: fields.namespace.optional(),
    k,
  }),
  output: z.object({
    chosen_family: z.string(),
    score: z.number(),
    chosen_family_source: z.enum(['keyword', 'fallback']),
    intent: z.string(),
    ...loaded,
  }),
  effect: 'read',
  guards: {},
  delegable: 'by-namespace',
  http: [{ method: 'POST', path: '/memory_smart_load', fields: 'body' }],
  mcp: {
    description:
      'Not a search: guess the family of tools for an intent, and list only the memories whose metadata.family is that family, often none.',
  },
  run: async (call, input) => {
    const choice = chooseFamily(input.intent, call.services.catalogue.tools);
    const rows = await load(call, choice.family, input.namespace, input.k);
    if (!rows.ok) return failed(rows.error);
    return ok({
      chosen_family: choice.family,
      score: choice.score,
      chosen_family_source: choice.source,
      intent: input.intent,
      ...rows.value,
      ...hintOf(rows.value.count, asksSomething(input.intent)),
    });
  },
});

async function load(call: ReadCall, family: Family, namespace: string | undefined, limit: number) {
  const result = await call.services.store.query({
    kind: 'list-memories',
    family,
    filter: {
      namespace: namespace ?? null,
      tier: null,
      minPriority: null,
      since: null,
      until: null,
      tags: [],
      agentId: null,
      viewer: call.caller.viewer,
      now: call.now,
      limit,
      offset: 0,
    },
  });
  if (!result.ok) return result as Result<never>;
  const memories = await shownMemories(call, result.value.memories);
  return ok({
    namespace: namespace ?? null,
    k: limit,
    count: memories.length,
    memories,
    ...(result.value.nextOffset === null ? {} : { truncated: true as const }),
    ...omittedDamaged(result.value),
  });
}
