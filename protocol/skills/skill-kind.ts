import * as limits from '../base/limits.js';
import type { AgentId, Instant } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';
import { bytesOrNull, moment, namespace, word, wordOrNull } from '../coordination/members.js';
import { type Signed, signedVerdict } from '../coordination/signed.js';
import { type Kind, NO_AUTHOR } from '../kinds/kind.js';
import {
  isCount,
  isObject,
  isText,
  isTextOrNull,
  isTexts,
  parsedObject,
  type Rest,
} from '../kinds/payload.js';
import { recordKind } from '../kinds/record-kind.js';
import { listOf, orNull, shallowJson, textOf } from '../kinds/replicated-value.js';
import { isVisible } from '../memory/access.js';
import { SKILL_TOOL_BYTES_MAX, SKILL_TOOLS_MAX } from './limits.js';
import type { Manifest } from './manifest.js';
import { signedDigest } from './skill-digest.js';

/**
 * A version of a skill. Only what says whether it is the newest one changes. Its text and its files are contents, which its
 * digest covers; the signature is that of the node that took it, over the digest.
 */
export interface Skill extends Manifest, Signed {
  readonly skill_id: string;
  /** SHA-256 of the body, hex. */
  readonly body_sha256: string;
  /** The content with the body. */
  readonly content_id: string;
  /** Records of its files: one for each piece of a file. */
  readonly pieces: number;
  /** SHA-256, hex. */
  readonly digest: string;
  /** The agent that registered it. */
  readonly agent_id: AgentId;
  readonly created_at: Instant;
  /** When it was registered or superseded. */
  readonly updated_at: Instant;
  /** The version that took its place; null for the newest. */
  readonly superseded_by: string | null;
  /** Namespace and name while it is the newest version under them; null once it is superseded. */
  readonly head_of: string | null;
  readonly rest: Rest;
}

/** Where the versions of a skill are found that are not superseded. A name holds no `|`. */
export const headOf = ({ namespace: within, name }: Pick<Skill, 'namespace' | 'name'>): string =>
  `${within}|${name}`;

const LINE = textOf(limits.REPLICATED_TITLE_BYTES_MAX);
const HEAD = textOf(limits.HEADER_TEXT_LENGTH_MAX);
const text = { accepts: isText, admits: LINE, default: '' } as const;
const textOrNull = { accepts: isTextOrNull, admits: orNull(LINE), default: null } as const;
const count = { accepts: isCount, default: 0 } as const;

export const skillKind: Kind<Skill> = recordKind<Skill>({
  name: 'skill',
  members: {
    skill_id: word,
    namespace,
    name: word,
    description: text,
    license: textOrNull,
    compatibility: textOrNull,
    allowed_tools: {
      accepts: isTexts,
      admits: listOf(textOf(2 * SKILL_TOOL_BYTES_MAX), 2 * SKILL_TOOLS_MAX),
      default: [],
    },
    metadata: { accepts: isObject, admits: shallowJson(limits.REPLICATED_JSON_BYTES_MAX), default: {} },
    body_sha256: word,
    content_id: { accepts: isText, admits: HEAD, default: '' },
    pieces: count,
    digest: word,
    agent_id: word,
    created_at: moment,
    updated_at: moment,
    superseded_by: wordOrNull,
    head_of: { accepts: isTextOrNull, admits: orNull(HEAD), default: null },
    signature: bytesOrNull,
    public_key: bytesOrNull,
  },
  idOf: ({ skill_id }) => skill_id,
  namespaceOf: (skill) => skill.namespace,
  owner: 'agent_id',
  losers: 'dropped',
  author: (payload, context) => {
    const skill = skillKind.payload.parse(parsedObject(payload));
    return skill === null ? NO_AUTHOR : signedVerdict(skill, () => signedDigest(skill.digest), context);
  },
  exported: true,
  charged: true,
  isVisible: seesSkill,
  indexes: [
    { name: 'skill_head', members: ['head_of'] },
    { name: 'skill_before', members: ['superseded_by'] },
    { name: 'skill_content_of', members: ['content_id'] },
  ],
});

/** A skill shows as a memory of its owner with the scope that its front matter names. */
export function seesSkill(
  { namespace: within, metadata, agent_id }: Pick<Skill, 'namespace' | 'metadata' | 'agent_id'>,
  viewer: Viewer,
): boolean {
  return isVisible({ namespace: within, metadata: { scope: metadata['scope'], agent_id } }, viewer);
}
