import type { AgentId, Instant } from '../base/meanings.js';
import { fail } from '../base/result.js';
import type { Viewer } from '../base/viewer.js';
import { isWithheld } from '../base/withheld.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { appendAudit, type Mutation } from '../decide/mutations.js';
import { type Reading, recordsWith } from '../decide/reads.js';
import { putRecord, recordRow } from '../decide/record-writes.js';
import type { Row } from '../decide/rows.js';
import { type Blob, blobId } from './blob-kind.js';
import { blobOf, putBlob } from './blobs.js';
import { OFFLOAD_OWNERS_MAX } from './limits.js';
import { type Offload, offloadId, offloadKind } from './offload-kind.js';

/** Puts a content aside for its owner. */
export interface OffloadContent {
  readonly kind: 'offload-content';
  readonly offload: Offload;
  readonly blob: Blob;
  readonly viewer: Viewer;
}

export interface OffloadContentOutcome {
  /** As it is stored: its namespace is the first in which its owner put it aside. */
  readonly offload: Offload;
}

/** Reads a content that was put aside, and records that it was read. */
export interface DerefContent {
  readonly kind: 'deref-content';
  readonly refId: string;
  /** The agent that reads. */
  readonly by: AgentId;
  readonly viewer: Viewer;
}

export interface DerefContentOutcome {
  readonly offload: Offload;
  /** Null where the text is missing. */
  readonly blob: Blob | null;
}

const isOver = ({ expires_at }: Offload, now: Instant): boolean => expires_at !== null && expires_at <= now;

/**
 * Stores a content under its reference and owner. The same content again stays where it is and takes the new time; another
 * content with the same reference is CONFLICT.
 */
function* decideOffload(
  { offload, blob }: OffloadContent,
  { now }: DecisionContext,
): Deciding<OffloadContentOutcome> {
  const { ref_id, agent_id, content_sha256 } = offload;
  const row = yield* recordRow(offloadKind, offloadId(ref_id, agent_id));
  if (row !== null && row.image.content_sha256 !== content_sha256 && !isOver(row.image, now))
    return fail('CONFLICT', `another content of ${agent_id} has the reference ${ref_id}`);
  const namespace = row?.namespace ?? offload.namespace;
  const stored = { ...offload, namespace, blob_id: blobId(namespace, content_sha256) };
  const place = { id: offloadId(ref_id, agent_id), namespace };
  return decided({ offload: stored }, [
    yield* putBlob({ ...blob, namespace }),
    yield* putRecord(offloadKind, place, stored),
    audit('context_offloaded', agent_id, stored),
  ]);
}

/** Answers NOT_FOUND for a content of another agent, as for one that is not there or whose time is over. */
function* decideDeref(command: DerefContent, { now }: DecisionContext): Deciding<DerefContentOutcome> {
  const offload = yield* offloadOf(command);
  if (offload === null || isOver(offload, now) || isWithheld(command.viewer, offload.namespace))
    return fail('NOT_FOUND', `offloaded blob ${command.refId} not found`);
  const blob = yield* blobOf(offload);
  return decided({ offload, blob }, [audit('context_dereferenced', command.by, offload)]);
}

/** The caller's own content; for the operator, that of any agent. */
function* offloadOf({ refId, by, viewer }: DerefContent): Reading<Offload | null> {
  const own = yield* recordRow(offloadKind, offloadId(refId, viewer.agentId ?? by));
  if (own !== null || !viewer.all) return own?.image ?? null;
  const asked = { kind: offloadKind.name, member: 'ref_id', value: refId, limit: OFFLOAD_OWNERS_MAX };
  const [first] = (yield* recordsWith(asked)) as readonly Row<Offload>[];
  return first?.image ?? null;
}

function audit(type: string, agentId: AgentId, offload: Offload): Mutation {
  const { ref_id, namespace, agent_id, content_sha256, stored_at } = offload;
  const payload = { ref_id, namespace, owner: agent_id, content_sha256, stored_at };
  return appendAudit({ event: { agentId, type, payload } });
}

export const offloadContentCommand = defineCommand({
  kind: 'offload-content',
  decide: decideOffload,
  gate: 'no memory',
});

export const derefContentCommand = defineCommand({
  kind: 'deref-content',
  decide: decideDeref,
  gate: 'no memory',
});
