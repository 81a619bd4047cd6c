import { z } from 'zod';
import { fail, failed, ok } from '../../../protocol/base/result.js';
import { RESOURCE_PATH_BYTES_MAX, RESOURCE_SHOWN_BYTES_MAX } from '../../../protocol/skills/limits.js';
import { defineOperation } from '../../pipeline/operation.js';
import { fileBytes, newestVersion, seenSkill, soundSkill } from './read-skill.js';
import { resourceKind, skillId, skillSummary, summaryOf } from './skill-fields.js';

/** Shows a version of a skill (interface §4.12, reference-http §3.10). */
export const memorySkillGet = defineOperation({
  name: 'memory_skill_get',
  family: 'other',
  summary: 'Show a version of a skill with its text and the list of its files.',
  input: z.object({ skill_id: skillId }),
  output: z.object({
    ...skillSummary,
    body: z.string(),
    current: z.boolean().describe('It is the newest version under its name'),
    superseded_by: z.string().optional(),
    signed: z.boolean().describe('A node of the mesh signed its digest'),
    metadata: z.record(z.string(), z.unknown()),
    resources: z.array(z.object({ path: z.string(), kind: resourceKind, size: z.int() })),
  }),
  effect: 'read',
  guards: { admin: true },
  http: [{ method: 'GET', path: '/skill/{skill_id}', fields: 'query' }],
  mcp: { description: 'Read a skill: its text and the list of its files.' },
  cli: {
    command: 'skill get',
    aliases: { id: 'skill_id' },
    shown: { skill_id: 'id' },
    view: 'object',
    examples: ['skill get --id 3f2a4c1e-0000-4000-8000-000000000000 --json'],
  },
  run: async (call, { skill_id: id }) => {
    const skill = await seenSkill(call, id);
    if (!skill.ok) return failed(skill.error);
    const sound = await soundSkill(call, skill.value);
    if (!sound.ok) return failed(sound.error);
    const newest = await newestVersion(call, skill.value);
    if (!newest.ok) return failed(newest.error);
    const { body, files, signed } = sound.value;
    const current = newest.value?.skill_id === id;
    // Of two versions that were registered at the same time, one counts, and neither says so.
    const by = skill.value.superseded_by ?? (current ? null : (newest.value?.skill_id ?? null));
    return ok({
      ...summaryOf(skill.value, call),
      ...{ body, current, ...(by === null ? {} : { superseded_by: by }), signed },
      metadata: { ...skill.value.metadata },
      resources: [...files].map(([path, [{ resource_kind: kind, size }]]) => ({ path, kind, size })),
    });
  },
});

/** Shows a file of a skill (interface §4.12, reference-http §3.10). */
export const memorySkillResource = defineOperation({
  name: 'memory_skill_resource',
  family: 'other',
  summary: 'Show a file of a skill; its digest is verified.',
  input: z.object({
    skill_id: skillId,
    resource_path: z
      .string()
      .min(1)
      .max(RESOURCE_PATH_BYTES_MAX)
      .describe('Its path as memory_skill_get shows it'),
  }),
  output: z.object({
    skill_id: z.string(),
    resource_path: z.string(),
    resource_kind: resourceKind,
    content: z.string(),
    encoding: z.enum(['utf-8', 'base64']),
    digest: z.string().describe('SHA-256 of the file, hex'),
    digest_verified: z.literal(true),
  }),
  effect: 'read',
  guards: { admin: true },
  http: [
    {
      ...{ method: 'GET', path: '/skill/{skill_id}/resource', fields: 'query' },
      aliases: { path: 'resource_path' },
    },
  ],
  mcp: { description: 'Read one file of a skill.' },
  cli: {
    command: 'skill resource',
    aliases: { id: 'skill_id', path: 'resource_path' },
    shown: { skill_id: 'id', resource_path: 'path' },
    view: 'object',
    examples: ['skill resource --id 3f2a4c1e-0000-4000-8000-000000000000 --path scripts/run.sh'],
  },
  run: async (call, { skill_id: id, resource_path: path }) => {
    const skill = await seenSkill(call, id);
    if (!skill.ok) return failed(skill.error);
    const sound = await soundSkill(call, skill.value);
    if (!sound.ok) return failed(sound.error);
    const pieces = sound.value.files.get(path);
    if (pieces === undefined) return fail('NOT_FOUND', `skill ${id} has no file ${JSON.stringify(path)}`);
    const [{ size }] = pieces;
    if (size > RESOURCE_SHOWN_BYTES_MAX)
      return fail('PAYLOAD_TOO_LARGE', `the file has ${size} bytes; write the skill to a folder to read it`);
    const bytes = await fileBytes(call, pieces);
    if (!bytes.ok) return failed(bytes.error);
    const [{ resource_kind, sha256 }] = pieces;
    return ok({
      ...{ skill_id: id, resource_path: path, resource_kind, ...encoded(bytes.value) },
      ...{ digest: sha256, digest_verified: true as const },
    });
  },
});

/** Bytes as text where they are that, and else as base64. */
function encoded(bytes: Buffer): { content: string; encoding: 'utf-8' | 'base64' } {
  try {
    const content = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return { content, encoding: 'utf-8' };
  } catch {
    return { content: bytes.toString('base64'), encoding: 'base64' };
  }
}
