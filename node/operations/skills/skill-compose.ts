import { z } from 'zod';
import { failed, ok, type Result } from '../../../protocol/base/result.js';
import type { MemoryRow } from '../../../protocol/memory/memory.js';
import {
  COMPOSE_REFLECTIONS_MAX,
  COMPOSE_TOKENS,
  COMPOSE_TOKENS_MAX,
} from '../../../protocol/skills/limits.js';
import { composesOf } from '../../../protocol/skills/manifest.js';
import type { Skill } from '../../../protocol/skills/skill-kind.js';
import type { ReadCall } from '../../pipeline/call.js';
import { defineOperation } from '../../pipeline/operation.js';
import { deepestReflections } from './namespace-policy.js';
import { seenSkill, soundSkill } from './read-skill.js';
import { skillId } from './skill-fields.js';

const YEAR_MS = 365.25 * 86_400_000;
const ACCESSES_MAX = 50;
/** Texts whose tokens are counted by one message. */
const COUNTED_AT_ONCE = 32;

const reflection = z.object({
  id: z.string(),
  namespace: z.string(),
  title: z.string(),
  content: z.string(),
  created_at: z.string(),
  access_count: z.int(),
  reflection_depth: z.int(),
  memory_kind: z.literal('reflection'),
  score: z.number(),
});

const place = z.object({ namespace: z.string(), min_depth: z.int(), max_reflection_depth: z.int() });
type Place = z.output<typeof place>;

/** Shows a skill with the reflections that it is composed with (interface §4.12, reference-mcp-cli §6.6). */
export const memorySkillCompositionalContext = defineOperation({
  name: 'memory_skill_compositional_context',
  family: 'other',
  summary: 'Show a skill with reflections of the namespaces that it names, as many as fit a budget.',
  input: z.object({
    skill_id: skillId,
    budget_tokens: z
      .int()
      .min(0)
      .default(COMPOSE_TOKENS)
      .transform((value) => Math.min(value, COMPOSE_TOKENS_MAX))
      .describe(`Tokens of the reflections; ${COMPOSE_TOKENS_MAX} where more are asked for`),
  }),
  output: z.object({
    skill_id: z.string(),
    skill_namespace: z.string(),
    skill_name: z.string(),
    body: z.string(),
    compositional_namespaces: z.array(place),
    reflections: z.array(reflection),
    budget_tokens: z.int(),
    tokens_used: z.int(),
    memories_dropped: z.int().describe('Reflections that did not fit'),
  }),
  effect: 'read',
  guards: { admin: true },
  http: [{ method: 'POST', path: '/skill/{skill_id}/compose', fields: 'body' }],
  mcp: { description: 'Read a skill together with related reflections, within a budget of tokens.' },
  cli: {
    command: 'skill compose',
    aliases: { id: 'skill_id' },
    shown: { skill_id: 'id' },
    view: 'object',
    examples: ['skill compose --id 3f2a4c1e-0000-4000-8000-000000000000 --budget-tokens 2000 --json'],
  },
  run: async (call, { skill_id: id, budget_tokens }) => {
    const skill = await seenSkill(call, id);
    if (!skill.ok) return failed(skill.error);
    const sound = await soundSkill(call, skill.value);
    if (!sound.ok) return failed(sound.error);
    const places = await placesOf(call, skill.value);
    if (!places.ok) return failed(places.error);
    const scored = await reflectionsOf(call, places.value);
    if (!scored.ok) return failed(scored.error);
    const kept = await withinBudget(call, scored.value.best, budget_tokens);
    if (!kept.ok) return failed(kept.error);
    const { reflections, tokensUsed } = kept.value;
    return ok({
      ...{ skill_id: id, skill_namespace: skill.value.namespace, skill_name: skill.value.name },
      ...{ body: sound.value.body, compositional_namespaces: [...places.value] },
      ...{ reflections: reflections.map(shown), budget_tokens, tokens_used: tokensUsed },
      memories_dropped: scored.value.found - reflections.length,
    });
  },
});

/** The namespaces that a skill names, each once with the smallest depth that it names, and the deepest that counts there. */
async function placesOf(call: ReadCall, { metadata }: Skill): Promise<Result<readonly Place[]>> {
  const least = new Map<string, number>();
  for (const { namespace, min_depth } of composesOf(metadata) ?? [])
    least.set(namespace, Math.min(min_depth, least.get(namespace) ?? min_depth));
  const places: Place[] = [];
  for (const [namespace, min_depth] of least) {
    const cap = await deepestReflections(call, namespace);
    if (!cap.ok) return failed(cap.error);
    places.push({ namespace, min_depth, max_reflection_depth: cap.value });
  }
  return ok(places);
}

interface Scored {
  readonly memory: MemoryRow;
  readonly score: number;
}

/** The reflections of those namespaces that the caller sees: the best ones, best first, and how many there are. */
async function reflectionsOf(
  call: ReadCall,
  places: readonly Place[],
): Promise<Result<{ readonly best: readonly Scored[]; readonly found: number }>> {
  const { services, caller, now, nowMs } = call;
  let best: Scored[] = [];
  let count = 0;
  for (const { namespace, min_depth: minDepth, max_reflection_depth: maxDepth } of places) {
    const found = await services.store.query({
      ...{ kind: 'reflections-in', namespace, minDepth, maxDepth, limit: COMPOSE_REFLECTIONS_MAX },
      ...{ viewer: caller.viewer, now },
    });
    if (!found.ok) return failed(found.error);
    const { memories } = found.value;
    count += memories.length;
    best = [...best, ...memories.map((memory) => ({ memory, score: scoreOf(memory, nowMs) }))]
      .sort((a, b) => b.score - a.score || (a.memory.id < b.memory.id ? -1 : 1))
      .slice(0, COMPOSE_REFLECTIONS_MAX);
  }
  return ok({ best, found: count });
}

/** How new a reflection is, from 1 for now to 0 for a year ago, and how often it was read, from 0 to 1. */
function scoreOf({ created_at, access_count }: MemoryRow, nowMs: number): number {
  const recency = 1 - (nowMs - Date.parse(created_at)) / YEAR_MS;
  return Math.min(1, Math.max(0, recency)) + Math.min(access_count, ACCESSES_MAX) / ACCESSES_MAX;
}

/** Takes what fits, in order; what does not fit is left out, and smaller ones behind it are still taken. */
async function withinBudget({ services }: ReadCall, scored: readonly Scored[], budget: number) {
  const reflections: Scored[] = [];
  let used = 0;
  for (let at = 0; at < scored.length && used < budget; ) {
    const texts = scored
      .slice(at, at + COUNTED_AT_ONCE)
      .map(({ memory }) => `${memory.title}\n${memory.content}`);
    const counted = await services.tokens.counts(texts, budget - used);
    if (!counted.ok) return failed(counted.error);
    for (const tokens of counted.value) {
      if (used + tokens <= budget) {
        reflections.push(scored[at]!);
        used += tokens;
      }
      at += 1;
    }
  }
  return ok({ reflections, tokensUsed: used });
}

function shown({ memory, score }: Scored): z.input<typeof reflection> {
  const { id, namespace, title, content, created_at, access_count, reflection_depth } = memory;
  const said = { id, namespace, title, content, created_at, access_count, reflection_depth };
  return { ...said, memory_kind: 'reflection', score };
}
