import type { Instant } from '../base/meanings.js';
import { type Failure, fail, failed, failure } from '../base/result.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import type { GatedPlace } from '../decide/gate.js';
import { dropRows, putRow } from '../decide/local-rows.js';
import { appendAudit, type Mutation } from '../decide/mutations.js';
import { type Reading, recordsWith } from '../decide/reads.js';
import { putRecord, recordRow } from '../decide/record-writes.js';
import type { Row } from '../decide/rows.js';
import {
  contentId,
  resourceId,
  type SkillContent,
  type SkillResource,
  skillContentKind,
  skillResourceKind,
} from './content-kinds.js';
import { SKILL_HEADS_MAX, SKILL_PIECES_MAX } from './limits.js';
import { headOf, type Skill, seesSkill, skillKind } from './skill-kind.js';
import { skillUploadKind } from './upload-kind.js';

/** A piece of a file with its bytes. */
export interface SkillFile {
  readonly resource: SkillResource;
  readonly content: SkillContent;
}

/** Stores files of a skill that is registered afterwards, where it has too many for one transaction. */
export interface StoreSkillFiles {
  readonly kind: 'store-skill-files';
  readonly skillId: string;
  readonly namespace: string;
  readonly files: readonly SkillFile[];
  readonly viewer: Viewer;
}

/** Registers a version of a skill, which takes the place of the version under its name. */
export interface RegisterSkill {
  readonly kind: 'register-skill';
  readonly skill: Skill;
  readonly body: SkillContent;
  /** The files that are not stored yet. */
  readonly files: readonly SkillFile[];
  readonly viewer: Viewer;
  /** True for an admin and for the operator, who may supersede the skill of any agent. */
  readonly rules: boolean;
  /** True for a command that was sent before and not answered: the skill with its id answers it. */
  readonly again?: true;
}

export interface RegisterSkillOutcome {
  readonly skill: Skill;
  /** The version whose place it took; null for a new name. */
  readonly supersededId: string | null;
}

function* decideStoreFiles(
  { skillId, namespace, files }: StoreSkillFiles,
  { now }: DecisionContext,
): Deciding<object> {
  if ((yield* recordRow(skillKind, skillId)) !== null) return failed(isRegistered(skillId));
  const upload = { skill_id: skillId, namespace, stored_at: now };
  return decided({}, [...(yield* fileWrites(files)), putRow(skillUploadKind, upload)]);
}

/**
 * Registers a version. FORBIDDEN where the name is that of another agent's skill; UNAVAILABLE where files of it are not stored any
 * more, because it took too long.
 */
function* decideRegister(command: RegisterSkill, { now }: DecisionContext): Deciding<RegisterSkillOutcome> {
  const { skill, body, files, viewer, rules } = command;
  const { skill_id: id, namespace, name, agent_id: agentId, digest } = skill;
  const known = yield* recordRow(skillKind, id);
  if (known !== null)
    return command.again === true
      ? decided({ skill: known.image, supersededId: yield* supersededBy(id) }, [])
      : failed(isRegistered(id));
  if (!(yield* isWhole(skill, files)))
    return fail('UNAVAILABLE', 'files of the skill are not stored any more; register it again');
  const heads = yield* headsOf(skill);
  const mayReplace = ({ image }: Row<Skill>) => rules || image.agent_id === agentId;
  if (!heads.every(mayReplace))
    return fail(
      'FORBIDDEN',
      `skill "${name}" in namespace "${namespace}" belongs to another agent: choose another name`,
    );
  const superseded: Mutation[] = [];
  for (const row of heads)
    superseded.push(
      yield* putRecord(skillKind, row, { ...row.image, superseded_by: id, head_of: null, updated_at: now }),
    );
  const supersededId = newestOf(heads, viewer, rules)?.skill_id ?? null;
  const payload = {
    skill_id: id,
    namespace,
    name,
    digest,
    signed: skill.signature !== null,
    superseded_id: supersededId,
  };
  return decided({ skill, supersededId }, [
    ...superseded,
    ...(yield* fileWrites(files)),
    yield* putContent(body),
    yield* putRecord(skillKind, { id, namespace }, skill),
    dropRows(skillUploadKind, { skill_id: id }),
    appendAudit({ event: { agentId, type: 'skill.registered', payload } }),
  ]);
}

const isRegistered = (id: string): Failure =>
  failure('CONFLICT', `skill ${id} is registered already`, { existing_id: id });

function* fileWrites(files: readonly SkillFile[]): Reading<readonly Mutation[]> {
  const writes: Mutation[] = [];
  const contents = new Map<string, SkillContent>();
  for (const { resource, content } of files) {
    const place = { id: resourceId(resource), namespace: resource.namespace };
    writes.push(yield* putRecord(skillResourceKind, place, resource));
    contents.set(contentId(content.namespace, content.sha256), content);
  }
  for (const content of contents.values()) writes.push(yield* putContent(content));
  return writes;
}

const putContent = (content: SkillContent) =>
  putRecord(
    skillContentKind,
    { id: contentId(content.namespace, content.sha256), namespace: content.namespace },
    content,
  );

/** True when the pieces that are stored and those that come with the command are all pieces of the skill, and no others. */
function* isWhole({ skill_id: id, pieces }: Skill, files: readonly SkillFile[]): Reading<boolean> {
  const asked = { kind: skillResourceKind.name, member: 'skill_id', value: id, limit: SKILL_PIECES_MAX + 1 };
  const ids = new Set((yield* recordsWith(asked)).map((row) => row.id));
  for (const { resource } of files) ids.add(resourceId(resource));
  return ids.size === pieces;
}

/** The versions under the name of a skill that are not superseded: one, or several after concurrent registrations. */
function* headsOf(skill: Pick<Skill, 'namespace' | 'name'>): Reading<readonly Row<Skill>[]> {
  const value = headOf(skill);
  const asked = { kind: skillKind.name, member: 'head_of', value, limit: SKILL_HEADS_MAX };
  const found = (yield* recordsWith(asked)) as readonly Row<Skill>[];
  // A peer may write a record that says another place than its own.
  return found.filter(({ image }) => headOf(image) === value);
}

/** The version that a caller is told it took the place of. */
function newestOf(heads: readonly Row<Skill>[], viewer: Viewer, rules: boolean): Skill | null {
  const seen = heads.map(({ image }) => image).filter((image) => rules || seesSkill(image, viewer));
  return seen.sort(byAge).at(-1) ?? null;
}

/** Older versions first; which of several is the newest is the same on every node. */
export const byAge = (a: Skill, b: Skill): number =>
  orderOf(a.created_at, b.created_at) || orderOf(a.skill_id, b.skill_id);

const orderOf = (a: Instant, b: Instant): number => (a < b ? -1 : a > b ? 1 : 0);

/** A skill may take several commands, and an approval holds for one. */
const GATE = { action: 'skill_register', instead: 'let an approver register the skill' } as const;

export const storeSkillFilesCommand = defineCommand({
  kind: 'store-skill-files',
  decide: decideStoreFiles,
  gate: { ...GATE, also: ({ namespace }) => [writing(namespace)] },
  bytes: ({ files }) => bytesOfFiles(files),
});

export const registerSkillCommand = defineCommand({
  kind: 'register-skill',
  decide: decideRegister,
  gate: { ...GATE, also: ({ skill }) => [writing(skill.namespace)] },
  bytes: ({ files, body }) => bytesOfFiles(files) + 2 * body.data.length + SKILL_RECORD_BYTES,
});

/** A skill is read by other agents as memories are, so the gate of writes to its namespace counts for it too. */
const writing = (namespace: string): GatedPlace => ({ gate: 'write', namespace, ops: ['memory_store'] });

const SKILL_RECORD_BYTES = 8192;
const bytesOfFiles = (files: readonly SkillFile[]): number =>
  files.reduce((sum, { content }) => sum + 2 * content.data.length + SKILL_RECORD_BYTES, 0);

/** The version whose place a registered one took. */
function* supersededBy(id: string): Reading<string | null> {
  const asked = { kind: skillKind.name, member: 'superseded_by', value: id, limit: SKILL_HEADS_MAX };
  const found = (yield* recordsWith(asked)) as readonly Row<Skill>[];
  return (
    found
      .map(({ image }) => image)
      .sort(byAge)
      .at(-1)?.skill_id ?? null
  );
}
