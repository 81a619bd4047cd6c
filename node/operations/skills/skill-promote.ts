import { z } from 'zod';
import { METADATA_BYTES_MAX } from '../../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import type { MemoryRow } from '../../../protocol/memory/memory.js';
import {
  PROMOTE_SOURCES_MAX,
  SKILL_DESCRIPTION_LENGTH_MAX,
  SKILL_NAME_LENGTH_MAX,
} from '../../../protocol/skills/limits.js';
import { bodyOf, type Manifest, manifestOf, schemaProblem } from '../../../protocol/skills/manifest.js';
import type { Call, ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { promotionDepth } from './namespace-policy.js';
import { registeredAs, registeredMembers } from './skill-fields.js';
import type { FileSource } from './skill-folder.js';
import { storeSkill } from './store-skill.js';

const LICENSE = 'Apache-2.0';

const input = z.object({
  reflection_id: fields.memoryId,
  skill_name: z.string().max(SKILL_NAME_LENGTH_MAX).describe('Lower-case letters, digits and single hyphens'),
  skill_description: z
    .string()
    .max(2 * SKILL_DESCRIPTION_LENGTH_MAX)
    .describe('What the skill is for, up to 1024 characters'),
  parameters_schema: fields
    .jsonObject(METADATA_BYTES_MAX)
    .describe('JSON schema of the parameters of the skill, an object')
    .optional(),
});

type Input = z.output<typeof input>;
const { id: _id, ...members } = registeredMembers;

/** Makes a skill of a reflection (interface §4.12, reference-mcp-cli §6.6). */
export const memorySkillPromoteFromReflection = defineOperation({
  name: 'memory_skill_promote_from_reflection',
  family: 'other',
  summary: 'Make a skill of a reflection; what it reflects on becomes files of the skill.',
  input,
  output: z.object({
    promoted: z.literal(true),
    skill_id: z.string(),
    ...members,
    derived_from_reflection_id: z.string(),
    original_reflection_depth: z.int(),
    sources_attached: z.int(),
  }),
  effect: 'write',
  guards: { attestation: 'by-name', admin: true },
  repeatable: true,
  http: [
    {
      ...{ method: 'POST', path: '/skill/{reflection_id}/promote', fields: 'body' },
      aliases: { name: 'skill_name', description: 'skill_description' },
    },
  ],
  mcp: { description: 'Make a skill from a reflection and what it reflects on.' },
  cli: {
    command: 'skill promote',
    aliases: { id: 'reflection_id', name: 'skill_name', description: 'skill_description' },
    shown: { reflection_id: 'id', skill_name: 'name', skill_description: 'description' },
    files: ['parameters_schema'],
    view: 'object',
    examples: ['skill promote --id 3f2a --name deploy-safely --description "How to deploy"'],
  },
  run: promote,
});

async function promote(call: Call, asked: Input) {
  const { viewer } = call.caller;
  const found = await call.services.store.query({
    ...{ kind: 'get-memory', id: asked.reflection_id, linksMax: 0, viewer, now: call.now },
  });
  if (!found.ok) return failed(found.error);
  const { memory } = found.value;
  const fit = await promotable(call, memory);
  if (!fit.ok) return failed(fit.error);
  const manifest = promotedManifest(memory, asked);
  if (!manifest.ok) return failed(manifest.error);
  const sources = await sourcesOf(call, memory);
  if (!sources.ok) return failed(sources.error);
  const files = new Map(sources.value.map((source, at) => [`references/source_${at}.md`, textOf(source)]));
  const source: FileSource = {
    paths: [...files.keys()],
    read: (path) => Promise.resolve(ok(Buffer.from(files.get(path)!, 'utf8'))),
  };
  const stored = await storeSkill(call, { manifest: manifest.value, body: bodyOf(memory.content) }, source);
  if (!stored.ok) return failed(stored.error);
  const { id: skill_id, ...rest } = registeredAs(stored.value);
  return ok({
    ...{ promoted: true as const, skill_id, ...rest, derived_from_reflection_id: memory.id },
    ...{ original_reflection_depth: memory.reflection_depth, sources_attached: files.size },
  });
}

async function promotable(
  call: ReadCall,
  { id, kind, namespace, reflection_depth: depth }: MemoryRow,
): Promise<Result<null>> {
  const refused = (problem: string) =>
    fail('VALIDATION_FAILED', `memory ${id} ${problem}`, { fields: ['reflection_id'] });
  if (kind !== 'reflection') return refused(`is of kind ${kind}; only a reflection becomes a skill`);
  const least = await promotionDepth(call, namespace);
  if (!least.ok) return failed(least.error);
  return depth >= least.value
    ? ok(null)
    : refused(`has the reflection depth ${depth}; skills in "${namespace}" need ${least.value}`);
}

function promotedManifest(memory: MemoryRow, asked: Input): Result<Manifest> {
  const { parameters_schema: schema } = asked;
  const unfit = schema === undefined ? null : schemaProblem(schema);
  if (unfit !== null)
    return fail('VALIDATION_FAILED', `parameters_schema: ${unfit}`, { fields: ['parameters_schema'] });
  // Who may not see the reflection does not see the skill either.
  const scope = memory.metadata['scope'];
  return manifestOf({
    ...{ namespace: memory.namespace, name: asked.skill_name, description: asked.skill_description },
    license: LICENSE,
    ...(scope === undefined || scope === null ? {} : { scope }),
    ...{ derived_from_reflection_id: memory.id, original_reflection_depth: memory.reflection_depth },
    ...(schema === undefined ? {} : { parameters_schema: schema }),
  });
}

/** What a reflection reflects on, as far as the caller sees it and everybody may who sees the skill. */
async function sourcesOf(call: ReadCall, reflection: MemoryRow): Promise<Result<readonly MemoryRow[]>> {
  const { services, now } = call;
  const { viewer } = call.caller;
  const links = await services.store.query({
    ...{ kind: 'named-links', sourceId: reflection.id, targetId: null, relation: 'reflects_on' },
    ...{ limit: PROMOTE_SOURCES_MAX, viewer, now },
  });
  if (!links.ok) return failed(links.error);
  const sources: MemoryRow[] = [];
  for (const { link } of links.value.found) {
    if (link.valid_until !== null && link.valid_until <= now) continue;
    const asked = { kind: 'get-memory', id: link.target_id, linksMax: 0, viewer, now } as const;
    const found = await services.store.query(asked);
    if (!found.ok && found.error.code !== 'NOT_FOUND') return failed(found.error);
    if (found.ok && showsWith(found.value.memory, reflection)) sources.push(found.value.memory);
  }
  return ok(sources);
}

/** True for a source that everybody sees, or those who see the reflection and no others. */
function showsWith(source: MemoryRow, reflection: MemoryRow): boolean {
  const [scope, other] = [
    source.metadata['scope'] ?? 'collective',
    reflection.metadata['scope'] ?? 'collective',
  ];
  if (scope === 'collective') return true;
  const isSameOwner = source.metadata['agent_id'] === reflection.metadata['agent_id'];
  return scope === other && source.namespace === reflection.namespace && isSameOwner;
}

const textOf = ({ title, content }: MemoryRow): string => `# ${title}\n\n${content}\n`;
