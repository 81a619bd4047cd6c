import { NAMESPACE_LENGTH_MAX, REPLICATED_WORD_BYTES_MAX } from '../base/limits.js';
import type { AgentId } from '../base/meanings.js';
import { isBase64OrNull, isCount, isText, type Rest } from '../kinds/payload.js';
import { recordKind } from '../kinds/record-kind.js';
import { textOf } from '../kinds/replicated-value.js';
import { TEXT_BYTES_MAX } from './limits.js';

/** A text, stored once in a namespace, however many turns and offloaded contents have it. */
export interface Blob {
  readonly namespace: string;
  /** SHA-256 of the text, hex. */
  readonly sha256: string;
  /** The text, compressed (raw DEFLATE), base64. */
  readonly data: string;
  /** Bytes of the text. */
  readonly size: number;
  /** The agent that stored it last, for whose storage bytes it counts. */
  readonly agent_id: AgentId;
  readonly rest: Rest;
}

const WORD = textOf(REPLICATED_WORD_BYTES_MAX);
/** Base64 of twice the longest text, for one that does not become shorter. */
const DATA = textOf(4 * TEXT_BYTES_MAX);

export const isDigest = (value: unknown): value is string =>
  typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);

/** The id of a text in a namespace. */
export const blobId = (namespace: string, sha256: string): string => `${namespace}|${sha256}`;

/**
 * Each new reference writes the blob anew: a concurrent removal on another node ends only versions that it has seen, so
 * it cannot take the text of a reference that it did not see.
 */
export const blobKind = recordKind<Blob>({
  name: 'blob',
  members: {
    namespace: { accepts: isText, admits: textOf(4 * NAMESPACE_LENGTH_MAX), default: '' },
    sha256: { accepts: isText, admits: isDigest, default: '' },
    data: { accepts: (value) => value !== null && isBase64OrNull(value), admits: DATA, default: '' },
    size: { accepts: isCount, default: 0 },
    agent_id: { accepts: isText, admits: WORD, default: '' },
  },
  idOf: ({ namespace, sha256 }) => blobId(namespace, sha256),
  namespaceOf: ({ namespace }) => namespace,
  namespaceOfId: (id) => id.slice(0, id.lastIndexOf('|')),
  owner: 'agent_id',
  isVisible: (_blob, { all }) => all,
  losers: 'dropped',
  exported: false,
  charged: true,
});
