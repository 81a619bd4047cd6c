import type { MemoryId } from '../base/meanings.js';
import { fail, failed, type Result } from '../base/result.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand, textBytes } from '../decide/command.js';
import { imageOf, isFlag, isRequester, type ReadMember, shaped } from '../decide/command-shape.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { localRow, putRow } from '../decide/local-rows.js';
import { appendAudit } from '../decide/mutations.js';
import type { Reading } from '../decide/reads.js';
import { putRecord, recordRow } from '../decide/record-writes.js';
import { ownerOf } from '../identity/owner.js';
import type { Kind } from '../kinds/kind.js';
import { isObject, isTextOrNull, type Rest } from '../kinds/payload.js';
import { newMemory, ofMemory } from '../memory/command-members.js';
import type { Memory } from '../memory/memory.js';
import { storeMemoryCommand } from '../memory/store.js';
import { type Blob, blobId, blobKind, isDigest } from './blob-kind.js';
import { putBlob } from './blobs.js';
import { sessionKey, transcriptLineKind } from './line-kind.js';
import { type Transcript, transcriptId, transcriptKind } from './transcript-kind.js';

/** Stores a turn of a session of a host once: a memory that tells it, its transcript, and its text. */
export interface CaptureTurn {
  readonly kind: 'capture-turn';
  /** As `store-memory` has it. */
  readonly memory: Memory;
  readonly transcript: Transcript;
  readonly blob: Blob;
  /** SHA-256 of the turn or the line with its agent, hex. */
  readonly digest: string;
  /** The file from which a line was recovered; null for a turn that its host sent. */
  readonly path: string | null;
  readonly viewer: Viewer;
  /** As `store-memory` has it. */
  readonly archive: boolean;
}

export interface CaptureTurnOutcome {
  /** The memory that tells the turn; it may have been removed since it was captured first. */
  readonly memoryId: MemoryId;
  /** False for a turn that was captured before. */
  readonly created: boolean;
}

/**
 * Stores a turn. The same turn again is answered with its memory; another text under its session and number is
 * TURN_CONFLICT. The memory passes the rule of every store, with its quotas; a title that is taken gets a number.
 */
function* decideCaptureTurn(command: CaptureTurn, context: DecisionContext): Deciding<CaptureTurnOutcome> {
  const { memory, transcript, blob, digest, path } = command;
  if (!fits(command)) return fail('VALIDATION_FAILED', 'the memory, the transcript and the text differ');
  const known = yield* capturedBefore(command);
  if (!known.ok) return failed(known.error);
  if (known.value !== null) return decided({ memoryId: known.value, created: false }, []);

  const { viewer, archive } = command;
  const stored = yield* storeMemoryCommand.decide(
    { kind: 'store-memory', memory, onConflict: 'version', viewer, archive, envelope: null },
    context,
  );
  if (!stored.ok) return stored;
  const { agent_id, host_session_id, host_turn_index, role, layer, content_sha256, attest_level } =
    transcript;
  const said = { host_session_id, host_turn_index, role, layer, content_sha256, attest_level };
  const payload = { memory_id: memory.id, namespace: memory.namespace, ...said };
  const line = {
    ...{ sha256: digest, memory_id: memory.id, host_kind: transcript.host_kind, transcript_path: path },
    ...{ host_session_id: sessionKey(transcript), host_turn_index, recovered_at: context.now },
  };
  const place = { id: transcriptId(transcript), namespace: transcript.namespace };
  return decided({ memoryId: memory.id, created: true }, [
    ...stored.value.mutations,
    yield* putBlob(blob),
    yield* putRecord(transcriptKind, place, transcript),
    putRow(transcriptLineKind, line),
    appendAudit({ event: { agentId: agent_id, type: 'memory_capture_turn', payload } }),
  ]);
}

/** True for members that belong together; a command that waited may come from another node. */
function fits({ memory, transcript, blob }: CaptureTurn): boolean {
  const { namespace, agent_id, content_sha256 } = transcript;
  return (
    transcript.memory_id === memory.id &&
    ownerOf(memory) === agent_id &&
    blob.agent_id === agent_id &&
    blob.sha256 === content_sha256 &&
    transcript.blob_id === blobId(namespace, content_sha256) &&
    memory.namespace === namespace &&
    blob.namespace === namespace
  );
}

/** The memory of a turn that was captured before; null for a new turn. TURN_CONFLICT where it had another text. */
function* capturedBefore({ transcript, digest }: CaptureTurn): Reading<Result<MemoryId | null>> {
  const row = yield* recordRow(transcriptKind, transcriptId(transcript));
  if (row !== null) {
    const { memory_id, role, content_sha256 } = row.image;
    const isSame = role === transcript.role && content_sha256 === transcript.content_sha256;
    return isSame ? { ok: true, value: memory_id } : conflict(transcript, memory_id, content_sha256);
  }
  const same = yield* localRow(transcriptLineKind, { sha256: digest });
  if (same !== null) return { ok: true, value: same.memory_id };
  const { host_turn_index } = transcript;
  const other = yield* localRow(transcriptLineKind, {
    host_session_id: sessionKey(transcript),
    host_turn_index,
  });
  return other === null ? { ok: true, value: null } : conflict(transcript, other.memory_id, null);
}

/** The digest of the stored text is null where its transcript is gone. */
function conflict(transcript: Transcript, memoryId: MemoryId, stored: string | null) {
  const { host_turn_index: turn, content_sha256 } = transcript;
  return fail('TURN_CONFLICT', `turn ${turn} of this session was captured with another text or role`, {
    ...{ existing_id: memoryId, content_sha256, existing_content_sha256: stored },
  });
}

/** What hooks hear of a transcript that was stored (reference-mcp-cli §3.1). */
function storedTranscript(transcript: Transcript) {
  const { created_at, expires_at, compressed_size, original_size, namespace } = transcript;
  return {
    ...{ id: transcriptId(transcript), namespace, created_at, expires_at },
    ...{ compressed_size, original_size },
  };
}

/** A record of the requester. */
const ownRecord = <I extends { readonly agent_id: string; readonly rest: Rest }>(
  kind: Kind<I>,
): ReadMember<I> => ({
  read: (value, by) => {
    const image = isObject(value) ? imageOf(kind, value) : undefined;
    return image !== undefined && isRequester(image.agent_id, by) ? image : undefined;
  },
});

export const captureTurnCommand = defineCommand({
  kind: 'capture-turn',
  decide: decideCaptureTurn,
  gate: { action: 'capture_turn', saysText: true, proposes: (held) => ofMemory(held) },
  read: shaped<CaptureTurn>('capture-turn', {
    ...{ memory: newMemory, transcript: ownRecord(transcriptKind), blob: ownRecord(blobKind) },
    ...{ digest: isDigest, path: isTextOrNull, archive: isFlag },
  }),
  bytes: ({ memory, blob }) => textBytes(memory.content, memory.metadata) + 2 * blob.data.length,
  text: ({ memory }) => memory.content,
  tells: {
    post_store: ({ outcome: { created, memoryId } }) => (created ? [{ memory: memoryId }] : []),
    post_transcript_store: ({ command: { transcript }, outcome: { created } }) =>
      created ? [{ namespace: transcript.namespace, payload: storedTranscript(transcript) }] : [],
  },
});
