import { z } from 'zod';
import type { DetailsOf } from '../../../protocol/base/error-details.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { writeSkillText } from '../../../protocol/skills/manifest.js';
import type { Call } from '../../pipeline/call.js';
import { defineOperation } from '../../pipeline/operation.js';
import { jailed } from './jail.js';
import { fileBytes, type SoundSkill, seenSkill, soundSkill } from './read-skill.js';
import { diskPath, skillId } from './skill-fields.js';
import { type WrittenFile, writeFolder } from './write-folder.js';

/** Writes a skill to a folder (interface §4.12, reference-http §3.10 and §9). */
export const memorySkillExport = defineOperation({
  name: 'memory_skill_export',
  family: 'other',
  summary: 'Write a skill to a new folder, from which it can be registered with the same digest.',
  input: z.object({
    skill_id: skillId,
    target_folder: diskPath.describe('New folder, below the folder of skills that the operator allows'),
  }),
  output: z.object({
    exported: z.literal(true),
    skill_id: z.string(),
    target_folder: z.string(),
    digest: z.string(),
    resources_exported: z.int(),
    files: z.array(z.string()),
  }),
  effect: 'write',
  guards: { attestation: 'by-name', admin: true },
  quorum: 'none',
  http: [{ method: 'POST', path: '/skill/{skill_id}/export', fields: 'body' }],
  mcp: { description: 'Write a skill to a new folder.' },
  cli: {
    command: 'skill export',
    aliases: { id: 'skill_id', output: 'target_folder' },
    shown: { skill_id: 'id', target_folder: 'output' },
    view: 'object',
    examples: ['skill export --id 3f2a4c1e-0000-4000-8000-000000000000 --output deploy'],
  },
  run: async (call, { skill_id: id, target_folder: named }) => {
    const skill = await seenSkill(call, id);
    if (!skill.ok) return failed(skill.error);
    const sound = await soundSkill(call, skill.value);
    if (!sound.ok) return failed(sound.error);
    const { skillsExportRoot: root } = call.services.settings;
    const target = await jailed(named, { root, field: 'target_folder', make: true });
    if (!target.ok) return failed(target.error);
    const allowed = await ruledOut(call, sound.value, target.value.path);
    if (!allowed.ok) return failed(allowed.error);
    const files = filesOf(call, sound.value);
    const { digest } = skill.value;
    const { store, random } = call.services;
    const commit = () =>
      store.execute({
        ...{ kind: 'note-skill-export', skillId: id, digest, folder: target.value.path },
        ...{ files: files.length, by: call.caller.agentId },
      });
    const written = await writeFolder(target.value, files, { random, commit });
    if (!written.ok) return failed(written.error);
    return ok({
      ...{ exported: true as const, skill_id: id, target_folder: target.value.path, digest },
      ...{ resources_exported: sound.value.files.size, files: files.map(({ path }) => path) },
    });
  },
});

/** Asks the rules about actions whether the caller may write there. */
async function ruledOut(call: Call, { body, files }: SoundSkill, path: string): Promise<Result<null>> {
  const sizes = [...files.values()].map(([{ size }]) => size);
  const bytes = sizes.reduce((sum, size) => sum + size, Buffer.byteLength(body));
  const action = { kind: 'filesystem_write', path, byte_estimate: bytes } as const;
  const { agentId } = call.caller;
  const checked = await call.services.store.execute({ kind: 'check-action', action, agentId });
  if (!checked.ok) return failed(checked.error);
  const { decision, rule_id, reason } = checked.value.said;
  if (decision !== 'refuse') return ok(null);
  const details: DetailsOf<'GOVERNANCE_REFUSED'> = {
    action: 'skill_export',
    rule_id,
    reason: reason ?? null,
  };
  return fail(
    'GOVERNANCE_REFUSED',
    `a rule refuses to write ${path}: ${reason ?? rule_id ?? 'rules'}`,
    details,
  );
}

function filesOf(call: Call, { skill, body, files }: SoundSkill): readonly WrittenFile[] {
  const text = Buffer.from(writeSkillText({ manifest: skill, body }), 'utf8');
  return [
    { path: 'SKILL.md', read: () => Promise.resolve(ok(text)) },
    ...[...files].map(([path, pieces]) => ({
      path: `resources/${path}`,
      read: () => fileBytes(call, pieces),
    })),
  ];
}
