import type { AgentId, Instant } from '../../../protocol/base/meanings.js';
import type { Crypto, Random } from '../../../protocol/base/seams.js';
import { instantAfter } from '../../../protocol/base/time.js';
import type { Viewer } from '../../../protocol/base/viewer.js';
import { NO_REST } from '../../../protocol/kinds/payload.js';
import { sessionConversation } from '../../../protocol/memory/conversation.js';
import type { Memory } from '../../../protocol/memory/memory.js';
import { newMemory } from '../../../protocol/memory/new-memory.js';
import { blobId } from '../../../protocol/transcripts/blob-kind.js';
import type { CaptureTurn } from '../../../protocol/transcripts/capture-turn.js';
import { type Transcript, turnBytes } from '../../../protocol/transcripts/transcript-kind.js';
import { type TranscriptSettings, transcriptLife } from '../../config/transcript-life.js';
import { hex, packed, tellable } from './texts.js';

/** A turn of a session, as its host sends it or as it was recovered. */
export interface Turn
  extends Pick<
    Transcript,
    | 'namespace'
    | 'host_session_id'
    | 'host_turn_index'
    | 'role'
    | 'host_kind'
    | 'host_version'
    | 'layer'
    | 'tool_calls'
    | 'attest_level'
    | 'host_signature'
    | 'host_pubkey'
  > {
  readonly agentId: AgentId;
  readonly content: string;
  readonly createdAt: Instant;
  /** Null for that of the settings. */
  readonly ttlSeconds: number | null;
  /** The file from which it was recovered; null for a turn that its host sent. */
  readonly path: string | null;
  /** What a line is known by, hex SHA-256; null for a turn, which is known by its session, number, role and text. */
  readonly lineSha256: string | null;
  /** What its memory says besides the text. */
  readonly told: Pick<Memory, 'title' | 'tags' | 'source' | 'priority' | 'metadata'>;
}

interface Parts {
  readonly now: Instant;
  readonly viewer: Viewer;
  readonly random: Random;
  readonly crypto: Crypto;
  readonly peerId: string;
  readonly settings: TranscriptSettings & { readonly archiveOnGc: boolean };
}

/** The command that stores a turn, and its memory, once. */
export function turnCommand(turn: Turn, parts: Parts): CaptureTurn {
  const { agentId, namespace, content, createdAt, told, path } = turn;
  const { crypto, now, settings, viewer, peerId } = parts;
  const id = parts.random.uuid();
  const text = packed(content, crypto);
  const ttl = turn.ttlSeconds ?? transcriptLife(settings, namespace).ttlSeconds;
  const { host_session_id, host_turn_index, role, host_kind, host_version, layer } = turn;
  const { tool_calls, attest_level, host_signature, host_pubkey } = turn;
  return {
    kind: 'capture-turn',
    memory: newMemory(now, {
      ...{ id, namespace, tier: 'long', content: tellable(content), created_at: createdAt, ...told },
      ...{ conversation: sessionConversation(host_kind, host_session_id), turn: host_turn_index },
      metadata: { ...told.metadata, agent_id: agentId, attest_level: 'claimed' },
    }),
    transcript: {
      ...{ namespace, agent_id: agentId, host_session_id, host_turn_index, role, host_kind, host_version },
      ...{ layer, content_sha256: text.sha256, blob_id: blobId(namespace, text.sha256), memory_id: id },
      ...{ original_size: text.size, compressed_size: text.compressedSize, tool_calls, attest_level },
      ...{ host_signature, host_pubkey, captured_by: peerId, created_at: createdAt },
      ...{ expires_at: instantAfter(now, ttl), archived_at: null, rest: NO_REST },
    },
    blob: {
      ...{ namespace, sha256: text.sha256, data: text.data, size: text.size },
      ...{ agent_id: agentId, rest: NO_REST },
    },
    digest: digestOf(turn, crypto),
    path,
    viewer,
    archive: settings.archiveOnGc,
  };
}

/** The agent is a part of it, so that two agents with one session do not take each other's turns for their own. */
function digestOf({ agentId, lineSha256, content, ...turn }: Turn, crypto: Crypto): string {
  const known = lineSha256 ?? hex(crypto.sha256(turnBytes(turn, content)));
  return hex(crypto.sha256(`${agentId}\0${known}`));
}
