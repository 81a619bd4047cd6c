import { NAMESPACE_LENGTH_MAX, REPLICATED_WORD_BYTES_MAX } from '../base/limits.js';
import type { AgentId, Instant, MemoryId } from '../base/meanings.js';
import { isCount, isObject, isText, isTextOrNull, oneOf, type Rest } from '../kinds/payload.js';
import { recordKind } from '../kinds/record-kind.js';
import { instant, json, listOf, orNull, textOf } from '../kinds/replicated-value.js';
import { HOST_SESSION_LENGTH_MAX, TOOL_CALLS_MAX } from './limits.js';

export const TURN_ROLES = ['user', 'assistant', 'tool_use', 'tool_result', 'system', 'other'] as const;
export type TurnRole = (typeof TURN_ROLES)[number];

/** How a turn came here: its host sent it, or it was recovered from the host's file. */
export const CAPTURE_LAYERS = ['L4', 'L2'] as const;
export type CaptureLayer = (typeof CAPTURE_LAYERS)[number];

/** Whether a host that the operator trusts signed the turn. */
export const TURN_ATTEST_LEVELS = ['self_signed', 'signed_by_peer'] as const;

export interface ToolCall {
  readonly tool: string;
  readonly brief: string;
}

/** One turn of a session of a host; its text is a blob, and a memory tells it. */
export interface Transcript {
  readonly namespace: string;
  readonly agent_id: AgentId;
  readonly host_session_id: string;
  readonly host_turn_index: number;
  readonly role: TurnRole;
  readonly host_kind: string;
  readonly host_version: string | null;
  readonly layer: CaptureLayer;
  /** SHA-256 of the text, hex. */
  readonly content_sha256: string;
  /** The blob with the text, by which its references are found. */
  readonly blob_id: string;
  /** Bytes of the text, and of its compressed form. */
  readonly original_size: number;
  readonly compressed_size: number;
  readonly memory_id: MemoryId;
  readonly tool_calls: readonly ToolCall[];
  readonly attest_level: (typeof TURN_ATTEST_LEVELS)[number];
  /** The host's Ed25519 signature over `turnBytes`, and its key; base64. */
  readonly host_signature: string | null;
  readonly host_pubkey: string | null;
  /** The node that took the turn, and that removes it when its time is over. */
  readonly captured_by: string;
  readonly created_at: Instant;
  readonly expires_at: Instant;
  /** When its time was over and no memory was left of it; null before that. */
  readonly archived_at: Instant | null;
  readonly rest: Rest;
}

type Turn = Pick<Transcript, 'agent_id' | 'host_session_id' | 'host_turn_index'>;

/** An agent's turn has one id on every node, so the same turn is one record wherever it is captured. */
export const transcriptId = ({ agent_id, host_session_id, host_turn_index }: Turn): string =>
  `${agent_id}|${host_turn_index}|${host_session_id}`;

/** What a host signs of a turn (reference-mcp-cli §6.7). */
export const turnBytes = (
  turn: Pick<Transcript, 'host_session_id' | 'host_turn_index' | 'role'>,
  content: string,
): Uint8Array =>
  new TextEncoder().encode(
    [turn.host_session_id, String(turn.host_turn_index), turn.role, content].join('\0'),
  );

const isObjects = (value: unknown): boolean => Array.isArray(value) && value.every(isObject);
const WORD = textOf(REPLICATED_WORD_BYTES_MAX);

export const transcriptKind = recordKind<Transcript>({
  name: 'transcript',
  members: {
    namespace: { accepts: isText, admits: textOf(4 * NAMESPACE_LENGTH_MAX), default: '' },
    agent_id: { accepts: isText, admits: WORD, default: '' },
    host_session_id: { accepts: isText, admits: textOf(4 * HOST_SESSION_LENGTH_MAX), default: '' },
    host_turn_index: { accepts: isCount, default: 0 },
    role: { accepts: oneOf(TURN_ROLES), default: 'other' },
    host_kind: { accepts: isText, admits: WORD, default: 'unknown' },
    host_version: { accepts: isTextOrNull, admits: orNull(WORD), default: null },
    layer: { accepts: oneOf(CAPTURE_LAYERS), default: 'L4' },
    content_sha256: { accepts: isText, admits: WORD, default: '' },
    blob_id: { accepts: isText, admits: textOf(4096), default: '' },
    original_size: { accepts: isCount, default: 0 },
    compressed_size: { accepts: isCount, default: 0 },
    memory_id: { accepts: isText, admits: WORD, default: '' },
    tool_calls: { accepts: isObjects, admits: listOf(json, 2 * TOOL_CALLS_MAX), default: [] },
    attest_level: { accepts: oneOf(TURN_ATTEST_LEVELS), default: 'self_signed' },
    host_signature: { accepts: isTextOrNull, admits: orNull(WORD), default: null },
    host_pubkey: { accepts: isTextOrNull, admits: orNull(WORD), default: null },
    captured_by: { accepts: isText, admits: WORD, default: '' },
    created_at: { accepts: isText, admits: instant, default: '' },
    expires_at: { accepts: isText, admits: instant, default: '' },
    archived_at: { accepts: isTextOrNull, admits: orNull(instant), default: null },
  },
  idOf: transcriptId,
  namespaceOf: ({ namespace }) => namespace,
  owner: 'agent_id',
  memories: ['memory_id'],
  isVisible: ({ agent_id }, { all, agentId }) => all || (agentId !== null && agent_id === agentId),
  losers: 'dropped',
  exported: false,
  charged: true,
  indexes: [
    { name: 'transcripts_by_memory', members: ['memory_id'] },
    { name: 'transcripts_by_blob', members: ['blob_id'] },
    { name: 'transcripts_by_expiry', members: ['expires_at'] },
  ],
});
