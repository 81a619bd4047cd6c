import type { AgentId, Instant } from '../base/meanings.js';
import { type Failure, fail, failed, failure } from '../base/result.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand } from '../decide/command.js';
import { type Check, isId, passed } from '../decide/command-shape.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { numbered } from '../decide/home.js';
import { appendAudit, type Mutation } from '../decide/mutations.js';
import type { Reading } from '../decide/reads.js';
import { putRecord, recordRow } from '../decide/record-writes.js';
import { oneOf } from '../kinds/payload.js';
import { instant, orNull, textOf } from '../kinds/replicated-value.js';
import { type Acting, chargedBy, isActing, isBytes, viewerOf } from './charged-by.js';
import {
  approversOf,
  type Checkpoint,
  checkpointKind,
  maySeeCheckpoint,
  VERDICTS,
  type Verdict,
  verdictBytes,
} from './checkpoint-kind.js';
import { checkpointNamed } from './checkpoint-rows.js';
import { homeHere } from './home-here.js';
import { RESOLUTION_BYTES_MAX, SIGNED_SKEW_MS } from './limits.js';
import { signatureHolds } from './reads.js';
import type { Signed } from './signed.js';

/** Makes a checkpoint, of which this node is the home. */
export interface CreateCheckpoint {
  readonly kind: 'create-checkpoint';
  /** The complete record, without the home number. */
  readonly checkpoint: Checkpoint;
  readonly viewer: Viewer;
  /** True for a command that was sent before and not answered: a checkpoint with its id answers it. */
  readonly again?: true;
}

/** What `create-checkpoint` and `resolve-checkpoint` answer. */
export interface CheckpointOutcome {
  readonly checkpoint: Checkpoint;
}

/** An agent resolves or rejects a checkpoint; only its home decides. */
export interface ResolveCheckpoint extends Signed, Acting {
  readonly kind: 'resolve-checkpoint';
  readonly checkpointId: string;
  readonly state: Verdict;
  readonly resolution: string | null;
  readonly note: string | null;
  /** The instant under the signature. */
  readonly at: Instant;
}

/** Ends a checkpoint whose deadline has passed. */
export interface ExpireCheckpoints {
  readonly kind: 'expire-checkpoints';
  /** Ids of records. */
  readonly ids: readonly string[];
}

/** What `expire-checkpoints` answers. */
export interface ExpireCheckpointsOutcome {
  readonly expired: number;
}

const audited = (agentId: AgentId, type: string, { checkpoint_id, namespace, state }: Checkpoint): Mutation =>
  appendAudit({ event: { agentId, type, payload: { checkpoint_id, namespace, state } } });

function* decideCreateCheckpoint({ checkpoint, again }: CreateCheckpoint): Deciding<CheckpointOutcome> {
  const id = checkpointKind.idOf(checkpoint)!;
  const known = again === true ? yield* recordRow(checkpointKind, id) : null;
  if (known !== null) return decided({ checkpoint: known.image }, []);
  const made = yield* numbered(id, checkpoint);
  const written = yield* putRecord(checkpointKind, { id, namespace: made.namespace }, made);
  return decided({ checkpoint: made }, [
    written,
    audited(made.created_by, 'coordination.checkpoint_create', made),
  ]);
}

/**
 * Resolves a checkpoint once: NOT_FOUND for one that the agent cannot see; CHECKPOINT_RESOLVED for one that is decided, or
 * whose deadline has passed; FORBIDDEN for an agent that may not; ATTESTATION_FAILED for a wrong signature; NOT_HOME on
 * another node.
 */
function* decideResolveCheckpoint(
  command: ResolveCheckpoint,
  context: DecisionContext,
): Deciding<CheckpointOutcome> {
  const { checkpointId, state, by, resolution, note, at, signature, public_key } = command;
  const viewer = viewerOf(command);
  const row = yield* checkpointNamed(checkpointId);
  if (row === null || !maySeeCheckpoint(row.image, viewer))
    return fail('NOT_FOUND', `checkpoint not found: ${checkpointId}`);
  const here = yield* homeHere(row.id);
  if ('elsewhere' in here) return failed(here.elsewhere);
  const before = row.image;
  const problem = stateProblem(before, context) ?? resolverProblem(before, command);
  if (problem !== null) return failed(problem);
  if (Math.abs(Date.parse(at) - context.nowMs) > SIGNED_SKEW_MS)
    return fail('ATTESTATION_FAILED', 'the clock of the node that signed differs too much from this one');
  const verdict: Checkpoint = {
    ...before,
    ...{ state, resolved_by: by, resolution, resolution_note: note, resolved_at: at, signature, public_key },
  };
  if (!(yield* isSoundVerdict(verdict)))
    return fail('ATTESTATION_FAILED', 'the signature of the resolution is not valid');
  const image = yield* numbered(row.id, verdict);
  const written = yield* putRecord(checkpointKind, row, image);
  const mutations = [written, audited(by, 'coordination.checkpoint_resolve', image)];
  return yield* chargedBy({ value: { checkpoint: image }, mutations }, command, context);
}

function* isSoundVerdict(verdict: Checkpoint): Reading<boolean> {
  const { signature, public_key: publicKey } = verdict;
  if (signature === null || publicKey === null) return signature === publicKey;
  return yield* signatureHolds({ publicKey, signature, data: verdictBytes(verdict) });
}

function stateProblem(
  { checkpoint_id: id, state, deadline_at, resolved_by: by }: Checkpoint,
  { now }: DecisionContext,
): Failure | null {
  if (state === 'pending' && (deadline_at === null || deadline_at > now)) return null;
  if (state === 'pending' || state === 'expired') {
    const details = { checkpoint_id: id, current_state: 'expired', resolved_by: null };
    return failure('CHECKPOINT_RESOLVED', `the deadline of checkpoint ${id} has passed`, details);
  }
  const details = { checkpoint_id: id, current_state: state, resolved_by: by };
  return failure(
    'CHECKPOINT_RESOLVED',
    `checkpoint ${id} already ${state} by ${by}; first resolution wins`,
    details,
  );
}

function resolverProblem(checkpoint: Checkpoint, { by, operator }: ResolveCheckpoint): Failure | null {
  if (operator) return null;
  const approvers = approversOf(checkpoint);
  if (approvers !== null && !approvers.includes(by))
    return failure('FORBIDDEN', `${by} may not resolve it: its condition names who may`);
  if (checkpoint.condition_type === 'approval' && checkpoint.created_by === by)
    return failure('FORBIDDEN', `${by} asked for the approval and cannot give it`);
  return null;
}

/** Leaves what another node decides, what is decided, and what has time left. */
function* decideExpireCheckpoints(
  { ids }: ExpireCheckpoints,
  { now }: DecisionContext,
): Deciding<ExpireCheckpointsOutcome> {
  const written: Mutation[] = [];
  for (const id of ids) {
    const row = yield* recordRow(checkpointKind, id);
    if (row === null || row.image.state !== 'pending') continue;
    const { deadline_at: deadline } = row.image;
    if (deadline === null || deadline > now || 'elsewhere' in (yield* homeHere(id))) continue;
    const image: Checkpoint = yield* numbered(id, { ...row.image, state: 'expired' });
    written.push(yield* putRecord(checkpointKind, row, image));
  }
  return decided({ expired: written.length }, written);
}

export const createCheckpointCommand = defineCommand({
  kind: 'create-checkpoint',
  decide: decideCreateCheckpoint,
  gate: 'no memory',
});

const isResolution: Check = orNull(textOf(RESOLUTION_BYTES_MAX));

export const resolveCheckpointCommand = defineCommand({
  kind: 'resolve-checkpoint',
  decide: decideResolveCheckpoint,
  gate: 'no memory',
  read: passed<ResolveCheckpoint>('resolve-checkpoint', {
    ...{ ...isActing, checkpointId: isId, state: oneOf(VERDICTS), at: instant },
    ...{ resolution: isResolution, note: isResolution, signature: isBytes, public_key: isBytes },
  }),
  forwarded: true,
});

export const expireCheckpointsCommand = defineCommand({
  kind: 'expire-checkpoints',
  decide: decideExpireCheckpoints,
  gate: 'upkeep',
});
