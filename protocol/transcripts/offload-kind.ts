import { NAMESPACE_LENGTH_MAX, REPLICATED_WORD_BYTES_MAX } from '../base/limits.js';
import type { AgentId, Instant } from '../base/meanings.js';
import { isCount, isText, isTextOrNull, type Rest } from '../kinds/payload.js';
import { recordKind } from '../kinds/record-kind.js';
import { instant, orNull, textOf } from '../kinds/replicated-value.js';

/** A content that an agent put aside, to read it again by its reference. */
export interface Offload {
  readonly ref_id: string;
  readonly namespace: string;
  readonly agent_id: AgentId;
  /** SHA-256 of the content, hex. */
  readonly content_sha256: string;
  /** The blob with the content. */
  readonly blob_id: string;
  /** Bytes of the content. */
  readonly size: number;
  readonly stored_at: Instant;
  readonly expires_at: Instant | null;
  readonly rest: Rest;
}

/** Equal contents have one reference, and each owner has a record of its own under it. */
export const offloadId = (refId: string, agentId: AgentId): string => `${refId}|${agentId}`;

const WORD = textOf(REPLICATED_WORD_BYTES_MAX);

export const offloadKind = recordKind<Offload>({
  name: 'offload',
  members: {
    ref_id: { accepts: isText, admits: WORD, default: '' },
    namespace: { accepts: isText, admits: textOf(4 * NAMESPACE_LENGTH_MAX), default: '' },
    agent_id: { accepts: isText, admits: WORD, default: '' },
    content_sha256: { accepts: isText, admits: WORD, default: '' },
    blob_id: { accepts: isText, admits: textOf(4096), default: '' },
    size: { accepts: isCount, default: 0 },
    stored_at: { accepts: isText, admits: instant, default: '' },
    expires_at: { accepts: isTextOrNull, admits: orNull(instant), default: null },
  },
  idOf: ({ ref_id, agent_id }) => offloadId(ref_id, agent_id),
  namespaceOf: ({ namespace }) => namespace,
  owner: 'agent_id',
  isVisible: ({ agent_id }, { all, agentId }) => all || (agentId !== null && agent_id === agentId),
  losers: 'dropped',
  exported: false,
  charged: true,
  indexes: [
    { name: 'offloads_by_ref', members: ['ref_id'] },
    { name: 'offloads_by_blob', members: ['blob_id'] },
    { name: 'offloads_by_expiry', members: ['expires_at'] },
  ],
});
