import type { AgentId } from '../base/meanings.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type Done, decided } from '../decide/deciding.js';
import { appendAudit } from '../decide/mutations.js';

/** Records that a skill was written to a folder. */
export interface NoteSkillExport {
  readonly kind: 'note-skill-export';
  readonly skillId: string;
  readonly digest: string;
  readonly folder: string;
  readonly files: number;
  readonly by: AgentId;
}

// biome-ignore lint/correctness/useYield: a rule is a generator, and this one reads nothing
function* decideNoteExport({ skillId, digest, folder, files, by }: NoteSkillExport): Deciding<Done> {
  const payload = { skill_id: skillId, digest, target_folder: folder, files };
  return decided({}, [appendAudit({ event: { agentId: by, type: 'skill.exported', payload } })]);
}

export const noteSkillExportCommand = defineCommand({
  kind: 'note-skill-export',
  decide: decideNoteExport,
  gate: 'no memory',
});
