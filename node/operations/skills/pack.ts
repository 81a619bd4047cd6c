import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import type { AgentId } from '../../../protocol/base/meanings.js';
import { fail, ok, type Result } from '../../../protocol/base/result.js';
import type { Crypto } from '../../../protocol/base/seams.js';
import { NO_REST } from '../../../protocol/kinds/payload.js';
import type { SkillContent } from '../../../protocol/skills/content-kinds.js';
import { PIECE_BYTES_MAX } from '../../../protocol/skills/limits.js';

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);

/** Bytes as a content holds them. */
export async function packedContent(
  bytes: Uint8Array,
  { namespace, agent_id, crypto }: { namespace: string; agent_id: AgentId; crypto: Crypto },
): Promise<SkillContent> {
  const data = (await deflate(bytes)).toString('base64');
  return { namespace, sha256: crypto.sha256Hex(bytes), data, size: bytes.length, agent_id, rest: NO_REST };
}

/** The bytes of a content. CONTENT_DAMAGED where it is missing, too long, or not the one of its digest. */
export async function unpackedContent(
  content: SkillContent | undefined,
  sha256: string,
  crypto: Crypto,
): Promise<Result<Uint8Array>> {
  if (content === undefined)
    return fail('CONTENT_DAMAGED', `the content with SHA-256 ${sha256} is not stored here`);
  let bytes: Uint8Array;
  try {
    bytes = await inflate(Buffer.from(content.data, 'base64'), { maxOutputLength: 2 * PIECE_BYTES_MAX });
  } catch {
    return fail('CONTENT_DAMAGED', `the content with SHA-256 ${sha256} cannot be decompressed`);
  }
  return crypto.sha256Hex(bytes) === sha256
    ? ok(bytes)
    : fail('CONTENT_DAMAGED', `what is stored is not the content with SHA-256 ${sha256}`);
}
