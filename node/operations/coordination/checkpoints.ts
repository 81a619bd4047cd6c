import { z } from 'zod';
import { agentIdProblem } from '../../../protocol/base/ids.js';
import { PAGE_SIZE_MAX } from '../../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { instantFromMs } from '../../../protocol/base/time.js';
import {
  CHECKPOINT_STATES,
  type Checkpoint,
  CONDITION_TYPES,
  checkpointKind,
  RESERVED_CONDITION_TYPES,
  VERDICTS,
  verdictBytes,
} from '../../../protocol/coordination/checkpoint-kind.js';
import {
  APPROVERS_MAX,
  COORDINATION_LIST_LIMIT,
  REFERENCE_BYTES_MAX,
  RESOLUTION_BYTES_MAX,
} from '../../../protocol/coordination/limits.js';
import {
  epochSeconds,
  epochSecondsOrNull,
  resolutionEnvelopeBytes,
  UNSIGNED,
} from '../../../protocol/coordination/signed.js';
import { rowsOf } from '../../../protocol/kinds/find.js';
import { NO_REST } from '../../../protocol/kinds/payload.js';
import type { ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { actingAgent } from './acting-agent.js';
import { afterMark, listed, nextOf, pageEnd } from './list-page.js';
import { attestLevel, isVerified, signedHere } from './signatures.js';

/** A checkpoint in an answer; instants are epoch seconds. */
export const checkpointOutput = z.object({
  id: z.string(),
  namespace: z.string(),
  title: z.string(),
  condition_type: z.string(),
  condition: z.record(z.string(), z.unknown()),
  state: z.enum(CHECKPOINT_STATES),
  created_by: z.string(),
  resolved_by: z.string().nullable(),
  resolution: z.string().nullable(),
  resolution_note: z.string().nullable(),
  signature: z.string().nullable(),
  resolver_pubkey: z.string().nullable(),
  created_at: z.int(),
  deadline_at: z.int().nullable(),
  resolved_at: z.int().nullable(),
  metadata: z.record(z.string(), z.unknown()),
});

/** A checkpoint as callers see it; one whose deadline has passed has expired, whether its home has noted that or not. */
export function shownCheckpoint(checkpoint: Checkpoint, now: string): z.input<typeof checkpointOutput> {
  const { checkpoint_id: id, namespace, title, condition_type, condition, created_by } = checkpoint;
  const { resolved_by, resolution, resolution_note, signature, public_key, deadline_at: due } = checkpoint;
  const isLate = checkpoint.state === 'pending' && due !== null && due <= now;
  return {
    ...{ id, namespace, title, condition_type, condition, state: isLate ? 'expired' : checkpoint.state },
    ...{ created_by, resolved_by, resolution, resolution_note, signature, resolver_pubkey: public_key },
    created_at: epochSeconds(checkpoint.created_at),
    deadline_at: epochSecondsOrNull(due),
    resolved_at: epochSecondsOrNull(checkpoint.resolved_at),
    metadata: checkpoint.metadata,
  };
}

const conditionType = z
  .string()
  .superRefine((type, context) => {
    const problem = RESERVED_CONDITION_TYPES.includes(type)
      ? `"${type}" is reserved for the service`
      : (CONDITION_TYPES as readonly string[]).includes(type)
        ? null
        : `must be one of: ${CONDITION_TYPES.join(', ')}`;
    if (problem !== null) context.addIssue({ code: 'custom', message: problem });
  })
  .meta({ enum: [...CONDITION_TYPES] })
  .describe('What it waits for');

const approvers = z
  .array(z.string().refine((agent) => agentIdProblem(agent) === null, 'must be an agent id'))
  .min(1)
  .max(APPROVERS_MAX);

const condition = fields.metadata.superRefine((value, context) => {
  const { approvers: named } = value;
  const parsed = named === undefined ? null : approvers.safeParse(named);
  if (parsed?.success === false)
    context.addIssue({
      code: 'custom',
      message: `approvers must be a list of 1 to ${APPROVERS_MAX} agent ids`,
    });
});

/** Epoch seconds of the years until 9999. */
const epoch = z.int().min(1).max(253_402_300_799);
const checkpointId = fields.words(REFERENCE_BYTES_MAX).describe('Id of the checkpoint');

/** Makes a checkpoint that agents wait for. */
export const memoryCheckpointCreate = defineOperation({
  name: 'memory_checkpoint_create',
  family: 'power',
  summary: 'Make a checkpoint that waits until an agent resolves it.',
  input: z.object({
    namespace: fields.ordinaryNamespace,
    title: fields.title.describe('What is waited for'),
    condition_type: conditionType.default('approval'),
    condition: condition
      .default({})
      .describe('Any JSON object; "approvers" lists the agents that alone may resolve it'),
    created_by: fields.agentId
      .describe('The maker: the caller. Only the operator names another agent')
      .optional(),
    deadline_at: epoch.describe('Epoch seconds after which it expires').nullish(),
    metadata: fields.metadata.default({}).describe('Any JSON object; "scope" decides who sees it'),
  }),
  output: z.object({ id: z.string(), checkpoint: checkpointOutput }),
  effect: 'write',
  guards: { attestation: 'by-name' },
  repeatable: true,
  mcp: {
    description:
      'Create a checkpoint: a gate at which work has to wait until a human or agent has signed off. Answers its id; memory_checkpoint_query shows when it is resolved.',
  },
  run: async (call, { created_by, deadline_at, ...asked }) => {
    const by = actingAgent(call, created_by, 'created_by');
    if (!by.ok) return failed(by.error);
    const due = deadline_at == null ? null : instantFromMs(deadline_at * 1000);
    const late = due === null ? asked.condition_type === 'deadline' : due <= call.now;
    if (late) {
      const cause = due === null ? 'is required for a deadline' : 'must lie in the future';
      return fail('VALIDATION_FAILED', `deadline_at: ${cause}`, { fields: ['deadline_at'] });
    }
    const { services, caller, now } = call;
    const checkpoint: Checkpoint = {
      ...{ checkpoint_id: services.random.uuid(), maker: services.peerId, ...asked, state: 'pending' },
      ...{ created_by: by.value, created_at: now, deadline_at: due, resolved_by: null, resolution: null },
      ...{ resolution_note: null, resolved_at: null, ...UNSIGNED, rest: NO_REST },
    };
    const again = call.again ? { again: true as const } : {};
    const { viewer } = caller;
    const made = await services.store.execute({ kind: 'create-checkpoint', checkpoint, viewer, ...again });
    if (!made.ok) return failed(made.error);
    const stands = made.value.checkpoint;
    return ok({ id: stands.checkpoint_id, checkpoint: shownCheckpoint(stands, now) });
  },
});

/** Resolves or rejects a checkpoint, once. */
export const memoryCheckpointResolve = defineOperation({
  name: 'memory_checkpoint_resolve',
  family: 'power',
  summary: 'Resolve or reject a checkpoint; the first resolution stands.',
  input: z.object({
    id: checkpointId,
    state: z.enum(VERDICTS, 'must be one of: resolved, rejected').describe('resolved or rejected'),
    resolved_by: fields.agentId
      .describe('The resolver: the caller. Only the operator names another agent')
      .optional(),
    resolution: fields.words(RESOLUTION_BYTES_MAX).describe('The decision, in a few words').nullish(),
    resolution_note: fields.words(RESOLUTION_BYTES_MAX).describe('Why').nullish(),
  }),
  output: z.object({ checkpoint: checkpointOutput, attest_level: z.enum(['self_signed', 'unsigned']) }),
  effect: 'write',
  idempotent: true,
  guards: { attestation: 'by-name' },
  mcp: { description: 'Sign off or reject a checkpoint; the first resolution stands.' },
  run: async (call, { id, state, resolved_by, resolution = null, resolution_note: note = null }) => {
    const by = actingAgent(call, resolved_by, 'resolved_by');
    if (!by.ok) return failed(by.error);
    const found = await seenCheckpoint(call, id);
    if (!found.ok) return failed(found.error);
    if (found.value === null) return fail('NOT_FOUND', `checkpoint not found: ${id}`);
    const { namespace } = found.value;
    const verdict = { checkpoint_id: id, namespace, state, resolution, resolved_by: by.value };
    const data = resolutionEnvelopeBytes({ ...verdict, resolved_at: call.now });
    const { all: operator, asNamespace } = call.caller.viewer;
    const resolved = await call.services.store.execute({
      ...{ kind: 'resolve-checkpoint', checkpointId: id, state, by: by.value, operator, asNamespace },
      ...{ resolution, note, at: call.now, ...signedHere(call, data) },
    });
    if (!resolved.ok) return failed(resolved.error);
    const { checkpoint } = resolved.value;
    return ok({ checkpoint: shownCheckpoint(checkpoint, call.now), attest_level: attestLevel(checkpoint) });
  },
});

/** A checkpoint that the caller sees; null where there is none. */
async function seenCheckpoint(
  { services, caller: { viewer }, now }: ReadCall,
  id: string,
): Promise<Result<Checkpoint | null>> {
  const found = await services.store.query({
    ...{ kind: 'find-records', of: checkpointKind.name, where: { checkpoint_id: id }, viewer, now, limit: 1 },
  });
  return found.ok ? ok(rowsOf(checkpointKind, found.value)[0] ?? null) : failed(found.error);
}

/** Lists the checkpoints of a namespace. */
export const memoryCheckpointQuery = defineOperation({
  name: 'memory_checkpoint_query',
  family: 'power',
  summary: 'List the checkpoints of a namespace, the newest first.',
  input: z.object({
    namespace: fields.namespace,
    condition_type: conditionType.optional(),
    state: z.enum(CHECKPOINT_STATES).describe('Only those in this state').optional(),
    limit: fields.listLimit(COORDINATION_LIST_LIMIT, PAGE_SIZE_MAX, 'checkpoints'),
    after: afterMark.optional(),
  }),
  output: z.object({ checkpoints: z.array(checkpointOutput), ...pageEnd }),
  effect: 'read',
  guards: {},
  mcp: { description: 'List the checkpoints of a namespace with their states, newest first.' },
  run: async (call, { namespace, condition_type, state, limit, after }) => {
    const where = {
      ...{ namespace, ...(condition_type === undefined ? {} : { condition_type }) },
      ...(state === undefined ? {} : { state }),
    };
    const page = await listed(call, {
      ...{ kind: checkpointKind, any: [where], by: 'created_at', descending: true, after, limit },
      idOf: (checkpoint: Checkpoint) => checkpointKind.idOf(checkpoint)!,
    });
    if (!page.ok) return failed(page.error);
    const checkpoints = page.value.rows.map((checkpoint) => shownCheckpoint(checkpoint, call.now));
    return ok({ checkpoints, ...nextOf(page.value) });
  },
});

/** Verifies the signature of the verdict on a checkpoint. */
export const memoryCheckpointVerify = defineOperation({
  name: 'memory_checkpoint_verify',
  family: 'power',
  summary: 'Verify who resolved a checkpoint.',
  input: z.object({ id: checkpointId }),
  output: z.object({
    checkpoint: checkpointOutput.nullable(),
    verified: z
      .boolean()
      .describe('The signature is that of a member of the mesh and covers the verdict as it stands'),
  }),
  effect: 'read',
  guards: {},
  mcp: { description: 'Verify by signature who resolved a checkpoint.' },
  run: async (call, { id }) => {
    const found = await seenCheckpoint(call, id);
    if (!found.ok) return failed(found.error);
    const checkpoint = found.value;
    if (checkpoint === null) return ok({ checkpoint, verified: false });
    const verified = await isVerified(call.services, checkpoint, verdictBytes(checkpoint));
    return ok({ checkpoint: shownCheckpoint(checkpoint, call.now), verified });
  },
});
