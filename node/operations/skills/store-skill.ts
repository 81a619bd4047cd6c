import { failed, ok, type Result } from '../../../protocol/base/result.js';
import { NO_REST } from '../../../protocol/kinds/payload.js';
import { contentId, type SkillContent, type SkillResource } from '../../../protocol/skills/content-kinds.js';
import {
  PIECE_BYTES_MAX,
  SKILL_BATCH_BYTES_MAX,
  SKILL_BATCH_FILES_MAX,
} from '../../../protocol/skills/limits.js';
import type { SkillText } from '../../../protocol/skills/manifest.js';
import type { RegisterSkillOutcome, SkillFile } from '../../../protocol/skills/register-skill.js';
import { resourceKindOf } from '../../../protocol/skills/resource-path.js';
import { signedDigest, skillDigest } from '../../../protocol/skills/skill-digest.js';
import { headOf, type Skill } from '../../../protocol/skills/skill-kind.js';
import type { Call } from '../../pipeline/call.js';
import { signedHere } from '../coordination/signatures.js';
import { packedContent } from './pack.js';
import { registeredBefore } from './read-skill.js';
import type { FileSource } from './skill-folder.js';

/** The files of a skill that are not stored yet, and what is known of all of them. */
interface Files {
  readonly waiting: SkillFile[];
  readonly digests: string[];
  pieces: number;
  /** True once some are stored. */
  stored: boolean;
}

/**
 * Stores a skill with its files for the caller. Files that are too many for one transaction are stored before, and removed
 * again where the skill is refused; a process that ends in between leaves them to the duty that removes them.
 */
export async function storeSkill(
  call: Call,
  { manifest, body }: SkillText,
  source: FileSource,
): Promise<Result<RegisterSkillOutcome>> {
  const { services, caller, now } = call;
  const { store, crypto } = services;
  const id = services.random.uuid();
  const known = call.again ? await registeredBefore(call, id) : null;
  if (known !== null) return known;
  const owner = { namespace: manifest.namespace, agent_id: caller.agentId, crypto };
  const files: Files = { waiting: [], digests: [], pieces: 0, stored: false };
  const read = await readFiles(call, { id, owner, source, files });
  const refused = async (failure: Result<never>): Promise<Result<never>> => {
    if (files.stored) await dropFiles(call, id);
    return failure;
  };
  if (!read.ok) return await refused(failed(read.error));
  const text = await packedContent(Buffer.from(body, 'utf8'), owner);
  const digest = skillDigest(manifest, body, files.digests, crypto);
  const skill: Skill = {
    ...manifest,
    ...{ skill_id: id, body_sha256: text.sha256, content_id: contentId(text.namespace, text.sha256) },
    ...{ pieces: files.pieces, digest, agent_id: caller.agentId, created_at: now, updated_at: now },
    ...{
      superseded_by: null,
      head_of: headOf(manifest),
      ...signedHere(call, signedDigest(digest)),
      rest: NO_REST,
    },
  };
  const { viewer } = caller;
  const stored = await store.execute({
    ...{ kind: 'register-skill', skill, body: text, files: files.waiting, viewer },
    ...{ rules: viewer.all || caller.admin, ...(call.again ? { again: true as const } : {}) },
  });
  return stored.ok ? stored : await refused(failed(stored.error));
}

interface Reading {
  readonly id: string;
  readonly owner: Parameters<typeof packedContent>[1];
  readonly source: FileSource;
  readonly files: Files;
}

async function readFiles(call: Call, reading: Reading): Promise<Result<null>> {
  const { source, owner, files } = reading;
  let bytes = 0;
  for (const path of source.paths) {
    const read = await source.read(path);
    if (!read.ok) return failed(read.error);
    const sha256 = owner.crypto.sha256Hex(read.value);
    files.digests.push(sha256);
    const pieces = Math.max(1, Math.ceil(read.value.length / PIECE_BYTES_MAX));
    for (let piece = 0; piece < pieces; piece += 1) {
      const at = piece * PIECE_BYTES_MAX;
      const content = await packedContent(read.value.subarray(at, at + PIECE_BYTES_MAX), owner);
      if (
        files.waiting.length >= SKILL_BATCH_FILES_MAX ||
        bytes + content.data.length > SKILL_BATCH_BYTES_MAX
      ) {
        const stored = await storeWaiting(call, reading);
        if (!stored.ok) return stored;
        bytes = 0;
      }
      const part = { path, sha256, size: read.value.length, piece, pieces };
      files.waiting.push({ resource: resourceOf(reading, part, content), content });
      files.pieces += 1;
      bytes += content.data.length;
    }
  }
  return ok(null);
}

type FilePart = Pick<SkillResource, 'path' | 'sha256' | 'size' | 'piece' | 'pieces'>;

function resourceOf({ id }: Reading, part: FilePart, content: SkillContent): SkillResource {
  const { namespace, sha256, agent_id } = content;
  return {
    ...{ ...part, skill_id: id, namespace, resource_kind: resourceKindOf(part.path) },
    ...{ content_id: contentId(namespace, sha256), agent_id, rest: NO_REST },
  };
}

async function storeWaiting(
  { services, caller }: Call,
  { id, owner, files }: Reading,
): Promise<Result<object>> {
  if (files.waiting.length === 0) return ok({});
  const stored = await services.store.execute({
    ...{ kind: 'store-skill-files', skillId: id, namespace: owner.namespace },
    ...{ files: [...files.waiting], viewer: caller.viewer },
  });
  // Whatever the answer, some may be stored.
  files.stored = true;
  files.waiting.length = 0;
  return stored;
}

async function dropFiles({ services }: Call, id: string): Promise<void> {
  for (let more = true; more; ) {
    const dropped = await services.store.execute({ kind: 'drop-skill-upload', skillId: id, before: null });
    more = dropped.ok && dropped.value.more;
  }
}
