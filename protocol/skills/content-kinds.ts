import { HEADER_TEXT_LENGTH_MAX, NAMESPACE_LENGTH_MAX } from '../base/limits.js';
import type { AgentId } from '../base/meanings.js';
import { namespace, word } from '../coordination/members.js';
import { isBase64OrNull, isCount, isText, oneOf, type Rest } from '../kinds/payload.js';
import { recordKind } from '../kinds/record-kind.js';
import { textOf } from '../kinds/replicated-value.js';
import { isDigest } from '../transcripts/blob-kind.js';
import { PIECE_BYTES_MAX, RESOURCE_PATH_BYTES_MAX } from './limits.js';
import { RESOURCE_KINDS, type ResourceKind } from './resource-path.js';

/**
 * The body of a skill, or a piece of a file, stored once in a namespace however many versions have it. Unlike the texts of
 * transcripts it is in exports, because skills are.
 */
export interface SkillContent {
  readonly namespace: string;
  /** SHA-256 of the bytes, hex. */
  readonly sha256: string;
  /** The bytes, compressed (raw DEFLATE), base64. */
  readonly data: string;
  readonly size: number;
  /** The agent that stored it last, for whose storage bytes it counts. */
  readonly agent_id: AgentId;
  readonly rest: Rest;
}

/** The id of a content in a namespace. */
export const contentId = (within: string, sha256: string): string => `${within}|${sha256}`;

const count = { accepts: isCount, default: 0 } as const;

/** Each new reference writes it anew, as blobs are, so that a concurrent removal cannot take it. */
export const skillContentKind = recordKind<SkillContent>({
  name: 'skill_content',
  members: {
    namespace: { accepts: isText, admits: textOf(4 * NAMESPACE_LENGTH_MAX), default: '' },
    sha256: { accepts: isText, admits: isDigest, default: '' },
    data: {
      accepts: (value) => value !== null && isBase64OrNull(value),
      // Base64 of twice the longest piece, for one that does not become shorter.
      admits: textOf(4 * PIECE_BYTES_MAX),
      default: '',
    },
    size: count,
    agent_id: word,
  },
  idOf: ({ namespace: within, sha256 }) => contentId(within, sha256),
  namespaceOf: ({ namespace: within }) => within,
  namespaceOfId: (id) => id.slice(0, id.lastIndexOf('|')),
  owner: 'agent_id',
  isVisible: (_content, { all }) => all,
  losers: 'dropped',
  exported: true,
  charged: true,
});

/** A piece of a file of a skill; most files have one. */
export interface SkillResource {
  readonly skill_id: string;
  readonly namespace: string;
  /** Below `resources/`. */
  readonly path: string;
  /** From 0, and how many the file has. */
  readonly piece: number;
  readonly pieces: number;
  readonly resource_kind: ResourceKind;
  /** SHA-256 of the whole file, hex. */
  readonly sha256: string;
  /** Bytes of the whole file. */
  readonly size: number;
  readonly content_id: string;
  readonly agent_id: AgentId;
  readonly rest: Rest;
}

export const resourceId = ({
  skill_id,
  piece,
  path,
}: Pick<SkillResource, 'skill_id' | 'piece' | 'path'>): string => `${skill_id}|${piece}|${path}`;

export const skillResourceKind = recordKind<SkillResource>({
  name: 'skill_resource',
  members: {
    skill_id: word,
    namespace,
    path: { accepts: isText, admits: textOf(2 * RESOURCE_PATH_BYTES_MAX), default: '' },
    piece: count,
    pieces: { accepts: isCount, default: 1 },
    resource_kind: { accepts: oneOf(RESOURCE_KINDS), default: 'asset' },
    sha256: { accepts: isText, admits: isDigest, default: '' },
    size: count,
    content_id: { accepts: isText, admits: textOf(HEADER_TEXT_LENGTH_MAX), default: '' },
    agent_id: word,
  },
  idOf: resourceId,
  namespaceOf: (resource) => resource.namespace,
  owner: 'agent_id',
  isVisible: (_resource, { all }) => all,
  losers: 'dropped',
  exported: true,
  charged: true,
  indexes: [
    { name: 'skill_resource_of', members: ['skill_id', 'namespace'] },
    { name: 'skill_resource_content', members: ['content_id'] },
  ],
});
