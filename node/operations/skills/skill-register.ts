import { z } from 'zod';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { FRONT_MATTER_BYTES_MAX, SKILL_BODY_BYTES_MAX } from '../../../protocol/skills/limits.js';
import type { Call } from '../../pipeline/call.js';
import { defineOperation } from '../../pipeline/operation.js';
import { jailed } from './jail.js';
import { screenedSkill } from './screened-skill.js';
import { asAgent, diskPath, registeredAs, registeredMembers } from './skill-fields.js';
import { type FileSource, openSkillFolder } from './skill-folder.js';
import { readSkillText } from './skill-text.js';
import { storeSkill } from './store-skill.js';

const input = z.object({
  folder_path: diskPath
    .describe('Folder with a SKILL.md, below the folder of skills that the operator allows')
    .optional(),
  inline_skill: z
    .string()
    .max(FRONT_MATTER_BYTES_MAX + SKILL_BODY_BYTES_MAX + 4096)
    .describe('The text of a SKILL.md, for a skill without files')
    .optional(),
  agent_id: asAgent,
});

/** Registers a version of a skill (interface §4.12, reference-mcp-cli §6.6). */
export const memorySkillRegister = defineOperation({
  name: 'memory_skill_register',
  family: 'other',
  summary: 'Register a skill from a SKILL.md; it takes the place of the version under its name.',
  input,
  output: z.object({
    registered: z.literal(true),
    ...registeredMembers,
    ignored: z
      .array(z.string())
      .describe('Beside SKILL.md and resources, so no part of the skill')
      .optional(),
  }),
  effect: 'write',
  idempotent: true,
  guards: { attestation: 'by-name', admin: true },
  repeatable: true,
  http: [{ method: 'POST', path: '/skill/register', fields: 'body' }],
  mcp: { description: 'Register a skill from a SKILL.md, as a new version.' },
  cli: {
    command: 'skill register',
    aliases: { manifest: 'folder_path', inline: 'inline_skill' },
    shown: { folder_path: 'manifest', inline_skill: 'inline' },
    stdin: ['inline_skill'],
    view: 'object',
    examples: ['skill register --manifest deploy', 'skill register --inline - < SKILL.md'],
  },
  run: async (call, { folder_path, inline_skill }) => {
    if ((folder_path === undefined) === (inline_skill === undefined))
      return fail(
        'VALIDATION_FAILED',
        'give either a folder (folder_path, --manifest) or a text (inline_skill, --inline)',
        {
          fields: ['folder_path', 'inline_skill'],
        },
      );
    const named = await sourceOf(call, folder_path, inline_skill);
    if (!named.ok) return failed(named.error);
    // The text of the call itself was looked at before.
    const source = folder_path === undefined ? named : await screenedSkill(call, named.value);
    if (!source.ok) return failed(source.error);
    const text = await readSkillText(source.value.text);
    if (!text.ok) return failed(text.error);
    const stored = await storeSkill(call, text.value, source.value);
    if (!stored.ok) return failed(stored.error);
    const { ignored } = source.value;
    return ok({
      registered: true as const,
      ...registeredAs(stored.value),
      ...(ignored.length === 0 ? {} : { ignored: [...ignored] }),
    });
  },
});

interface Source extends FileSource {
  readonly text: string;
  readonly ignored: readonly string[];
}

async function sourceOf(call: Call, path: string | undefined, text = ''): Promise<Result<Source>> {
  if (path === undefined) return ok({ text, ignored: [], ...NO_FILES });
  const { skillsImportRoot: root } = call.services.settings;
  const named = await jailed(path, { root, field: 'folder_path', make: false });
  if (!named.ok) return failed(named.error);
  const folder = await openSkillFolder(named.value);
  if (!folder.ok) return failed(folder.error);
  const { files, ...rest } = folder.value;
  return ok({ ...rest, paths: files });
}

const NO_FILES: FileSource = { paths: [], read: () => Promise.reject(new Error('the skill has no files')) };
