import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { holdsFor } from '../../../protocol/coordination/signed.js';
import { rowsOf } from '../../../protocol/kinds/find.js';
import {
  contentId,
  type SkillContent,
  type SkillResource,
  skillContentKind,
  skillResourceKind,
} from '../../../protocol/skills/content-kinds.js';
import { SKILL_HEADS_MAX, SKILL_PIECES_MAX } from '../../../protocol/skills/limits.js';
import { byAge, type RegisterSkillOutcome } from '../../../protocol/skills/register-skill.js';
import { resourcePathProblem } from '../../../protocol/skills/resource-path.js';
import { signedDigest, skillDigest } from '../../../protocol/skills/skill-digest.js';
import { headOf, type Skill, seesSkill, skillKind } from '../../../protocol/skills/skill-kind.js';
import type { ReadCall } from '../../pipeline/call.js';
import { isVerified } from '../coordination/signatures.js';
import { unpackedContent } from './pack.js';

/** A file of a skill: its pieces in order. */
export type SkillFilePieces = readonly [SkillResource, ...SkillResource[]];

/** A skill whose text and files are those that its digest covers. */
export interface SoundSkill {
  readonly skill: Skill;
  readonly body: string;
  /** By path. */
  readonly files: ReadonlyMap<string, SkillFilePieces>;
  /** The signature is that of a node of the mesh. */
  readonly signed: boolean;
}

/** A version that the caller sees. NOT_FOUND for another one. */
export async function seenSkill(call: ReadCall, id: string): Promise<Result<Skill>> {
  const skill = await storedSkill(call, id);
  if (!skill.ok) return skill;
  return skill.value !== null && seesSkill(skill.value, call.caller.viewer)
    ? ok(skill.value)
    : fail('NOT_FOUND', `skill not found: ${id}`);
}

async function storedSkill({ services }: ReadCall, id: string): Promise<Result<Skill | null>> {
  const found = await services.store.query({ kind: 'read-records', of: skillKind.name, ids: [id] });
  return found.ok ? ok((found.value.records[0]?.image ?? null) as Skill | null) : failed(found.error);
}

/** What a call that was sent before has registered; null where it has not. */
export async function registeredBefore(
  call: ReadCall,
  id: string,
): Promise<Result<RegisterSkillOutcome> | null> {
  const skill = await storedSkill(call, id);
  if (!skill.ok) return failed(skill.error);
  if (skill.value === null) return null;
  const where = { superseded_by: id };
  const before = await skillsWith(call, where);
  return before.ok
    ? ok({ skill: skill.value, supersededId: before.value.at(-1)?.skill_id ?? null })
    : failed(before.error);
}

/** The versions with a member that the caller sees, the oldest first. */
async function skillsWith(
  { services, caller, now }: ReadCall,
  where: { readonly head_of: string } | { readonly superseded_by: string },
): Promise<Result<Skill[]>> {
  const asked = { kind: 'find-records', of: skillKind.name, where, viewer: caller.viewer, now } as const;
  const found = await services.store.query({ ...asked, limit: SKILL_HEADS_MAX });
  return found.ok ? ok([...rowsOf(skillKind, found.value)].sort(byAge)) : failed(found.error);
}

/** The version that counts under the name of a skill; null where the caller sees none. */
export async function newestVersion(call: ReadCall, skill: Skill): Promise<Result<Skill | null>> {
  const heads = await skillsWith(call, { head_of: headOf(skill) });
  return heads.ok ? ok(heads.value.filter(isItsOwnHead).at(-1) ?? null) : failed(heads.error);
}

/** False for a record of a peer that says another name than its own. */
export const isItsOwnHead = (skill: Skill): boolean => skill.head_of === headOf(skill);

/**
 * Reads the text of a skill and what its files are, and verifies its digest and its signature. CONTENT_DAMAGED where anything
 * is missing or is not what was registered.
 */
export async function soundSkill(call: ReadCall, skill: Skill): Promise<Result<SoundSkill>> {
  const { crypto } = call.services;
  const text = await contentsOf(call, skill.namespace, [skill.body_sha256]);
  if (!text.ok) return failed(text.error);
  const body = await unpackedContent(text.value.get(skill.body_sha256), skill.body_sha256, crypto);
  if (!body.ok) return failed(body.error);
  const files = await filesOf(call, skill);
  if (!files.ok) return failed(files.error);
  const decoded = Buffer.from(body.value).toString('utf8');
  const digests = [...files.value.values()].map(([{ sha256 }]) => sha256);
  if (skillDigest(skill, decoded, digests, crypto) !== skill.digest)
    return fail('CONTENT_DAMAGED', `digest mismatch: skill ${skill.skill_id} is not what was registered`);
  const signable = signedDigest(skill.digest);
  if (skill.signature !== null && !holdsFor(skill, signable, crypto))
    return fail('CONTENT_DAMAGED', `the signature of skill ${skill.skill_id} does not cover its digest`);
  const signed = skill.signature !== null && (await isVerified(call.services, skill, signable));
  return ok({ skill, body: decoded, files: files.value, signed });
}

async function filesOf(
  { services, now }: ReadCall,
  skill: Skill,
): Promise<Result<Map<string, SkillFilePieces>>> {
  const { skill_id: id, namespace, pieces } = skill;
  const found = await services.store.query({
    ...{ kind: 'find-records', of: skillResourceKind.name, where: { skill_id: id, namespace } },
    ...{ viewer: null, now, limit: SKILL_PIECES_MAX + 1 },
  });
  if (!found.ok) return failed(found.error);
  const rows = [...rowsOf(skillResourceKind, found.value)].sort((a, b) => a.piece - b.piece);
  if (rows.length !== pieces)
    return fail(
      'CONTENT_DAMAGED',
      `${rows.length} of the ${pieces} pieces of the files of skill ${id} are stored here`,
    );
  const files = new Map<string, SkillResource[]>();
  for (const row of rows) files.set(row.path, [...(files.get(row.path) ?? []), row]);
  const isSound = ([path, parts]: [string, SkillResource[]]) =>
    resourcePathProblem(path) === null &&
    parts.every(
      ({ piece, pieces: all, sha256, size }, at) =>
        piece === at && all === parts.length && sha256 === parts[0]!.sha256 && size === parts[0]!.size,
    );
  return [...files].every(isSound)
    ? ok(new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1))) as Map<string, never>)
    : fail('CONTENT_DAMAGED', `the files of skill ${id} are not what was registered`);
}

/** The bytes of a file. CONTENT_DAMAGED where they are not those of its digest. */
export async function fileBytes(call: ReadCall, pieces: SkillFilePieces): Promise<Result<Buffer>> {
  const { crypto } = call.services;
  const [{ namespace, sha256, path, size }] = pieces;
  const parts: Uint8Array[] = [];
  for (const { content_id } of pieces) {
    const part = content_id.slice(content_id.lastIndexOf('|') + 1);
    // One at a time: a file may be long.
    const stored = await contentsOf(call, namespace, [part]);
    if (!stored.ok) return failed(stored.error);
    const bytes = await unpackedContent(stored.value.get(part), part, crypto);
    if (!bytes.ok) return failed(bytes.error);
    parts.push(bytes.value);
  }
  const bytes = Buffer.concat(parts);
  return bytes.length === size && crypto.sha256Hex(bytes) === sha256
    ? ok(bytes)
    : fail('CONTENT_DAMAGED', `digest mismatch: file ${JSON.stringify(path)} is not what was registered`);
}

/** Contents of a namespace by their digests. */
async function contentsOf(
  { services }: ReadCall,
  namespace: string,
  digests: readonly string[],
): Promise<Result<ReadonlyMap<string, SkillContent>>> {
  const ids = digests.map((sha256) => contentId(namespace, sha256));
  const found = await services.store.query({ kind: 'read-records', of: skillContentKind.name, ids });
  if (!found.ok) return failed(found.error);
  const contents = found.value.records.map(({ image }) => image as SkillContent);
  return ok(new Map(contents.map((content) => [content.sha256, content])));
}
