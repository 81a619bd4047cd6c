import type { Instant } from '../base/meanings.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, decided } from '../decide/deciding.js';
import { dropRows, localRow } from '../decide/local-rows.js';
import type { Mutation } from '../decide/mutations.js';
import { after, type Reading, recordsWith } from '../decide/reads.js';
import { dropRecord, recordRow } from '../decide/record-writes.js';
import type { Row } from '../decide/rows.js';
import { type SkillResource, skillContentKind, skillResourceKind } from './content-kinds.js';
import { SKILL_BATCH_FILES_MAX } from './limits.js';
import { skillKind } from './skill-kind.js';
import { skillUploadKind } from './upload-kind.js';

/** Removes files of a skill that was not registered, some in each transaction. */
export interface DropSkillUpload {
  readonly kind: 'drop-skill-upload';
  readonly skillId: string;
  /** Leaves one to which files were added later; null removes it in any case. */
  readonly before: Instant | null;
}

export interface DropSkillUploadOutcome {
  /** True when there are more of them. */
  readonly more: boolean;
}

/** A skill that was registered meanwhile keeps its files. */
function* decideDropUpload({ skillId, before }: DropSkillUpload): Deciding<DropSkillUploadOutcome> {
  const upload = yield* localRow(skillUploadKind, { skill_id: skillId });
  if (upload === null || (before !== null && upload.stored_at > before)) return decided({ more: false }, []);
  const done = dropRows(skillUploadKind, { skill_id: skillId });
  if ((yield* recordRow(skillKind, skillId)) !== null) return decided({ more: false }, [done]);
  const limit = SKILL_BATCH_FILES_MAX;
  const asked = { kind: skillResourceKind.name, member: 'skill_id', value: skillId, limit };
  const rows = (yield* recordsWith(asked)) as readonly Row<SkillResource>[];
  const dropped = rows.map((row) => dropRecord(skillResourceKind, row, 'not registered'));
  yield* after(dropped);
  const more = rows.length === limit;
  const contents = yield* unused(rows.map(({ image }) => image.content_id));
  return decided({ more }, more ? contents : [...contents, done]);
}

/** The removal of the contents to which no file and no skill refers any more. */
function* unused(ids: readonly string[]): Reading<readonly Mutation[]> {
  const mutations: Mutation[] = [];
  for (const id of new Set(ids)) {
    const asked = { member: 'content_id', value: id, limit: 1 };
    if ((yield* recordsWith({ kind: skillResourceKind.name, ...asked })).length > 0) continue;
    if ((yield* recordsWith({ kind: skillKind.name, ...asked })).length > 0) continue;
    const row = yield* recordRow(skillContentKind, id);
    if (row !== null) mutations.push(dropRecord(skillContentKind, row, 'unused'));
  }
  return mutations;
}

export const dropSkillUploadCommand = defineCommand({
  kind: 'drop-skill-upload',
  decide: decideDropUpload,
  gate: 'upkeep',
});
