import { canonicalJson } from '../base/canonical-json.js';
import type { Instant } from '../base/meanings.js';
import { type Failure, fail, failed, failure, ok, type Result } from '../base/result.js';
import type { Crypto } from '../base/seams.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand } from '../decide/command.js';
import { isId, passed } from '../decide/command-shape.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { numbered } from '../decide/home.js';
import { appendAudit, type Mutation } from '../decide/mutations.js';
import { digestOfText, type Reading, recordsWith } from '../decide/reads.js';
import { dropRecord, putRecord, recordRow } from '../decide/record-writes.js';
import type { Row } from '../decide/rows.js';
import { homeId } from '../kinds/home.js';
import { NO_REST } from '../kinds/payload.js';
import { instant } from '../kinds/replicated-value.js';
import { type Acting, chargedBy, isActing, isBytes, viewerOf } from './charged-by.js';
import { seesAs } from './checkpoint-kind.js';
import { homeHere, ownPeer } from './home-here.js';
import { SAME_ID_MAX, SIGNED_SKEW_MS, SWEEP_BATCH_MAX } from './limits.js';
import { type ActionPlan, planActions } from './plan-actions.js';
import { signatureHolds } from './reads.js';
import { type Routine, type RoutineRun, routineKind, routineRunKind, signableOf } from './routine-kind.js';
import { filledTemplate } from './routine-template.js';
import { routineEnvelopeBytes, type Signed } from './signed.js';

/** Makes a routine, of which this node is the home. */
export interface CreateRoutine {
  readonly kind: 'create-routine';
  /** The complete record, without the home number. */
  readonly routine: Routine;
  readonly viewer: Viewer;
  /** True for a command that was sent before and not answered: a routine with its id answers it. */
  readonly again?: true;
}

/** What `create-routine` and `freeze-routine` answer. */
export interface RoutineOutcome {
  readonly routine: Routine;
}

/** Freezes a routine; only its home does. */
export interface FreezeRoutine extends Signed, Acting {
  readonly kind: 'freeze-routine';
  readonly routineId: string;
  /** The instant under the signature. */
  readonly at: Instant;
}

/** Runs a frozen routine on this node, which is the home of the run and of its actions. */
export interface RunRoutine extends Acting {
  readonly kind: 'run-routine';
  readonly routineId: string;
  readonly runId: string;
  /** New UUIDs, one for each action that the template makes. */
  readonly actionIds: readonly string[];
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** What `run-routine` answers. */
export interface RunOutcome {
  readonly run: RoutineRun;
}

/** Removes runs that ended long ago, of which this node is the home. */
export interface SweepRuns {
  readonly kind: 'sweep-runs';
  /** Ids of records. */
  readonly ids: readonly string[];
  /** Runs that ended later stay. */
  readonly before: Instant;
}

/** What `sweep-runs` answers. */
export interface SweepRunsOutcome {
  readonly removed: number;
}

function* decideCreateRoutine({ routine, again }: CreateRoutine): Deciding<RoutineOutcome> {
  const id = routineKind.idOf(routine)!;
  const known = again === true ? yield* recordRow(routineKind, id) : null;
  if (known !== null) return decided({ routine: known.image }, []);
  const made = yield* numbered(id, routine);
  const { namespace, routine_id, created_by: agentId } = made;
  const written = yield* putRecord(routineKind, { id, namespace }, made);
  const event = { agentId, type: 'coordination.routine_create', payload: { routine_id, namespace } };
  return decided({ routine: made }, [written, appendAudit({ event })]);
}

/**
 * Freezes a routine for ever; one that is frozen stays as it is, signature included. NOT_FOUND for one that the agent cannot
 * see; FORBIDDEN for another agent than its creator; ATTESTATION_FAILED for a wrong signature; NOT_HOME on another node.
 */
function* decideFreezeRoutine(command: FreezeRoutine, context: DecisionContext): Deciding<RoutineOutcome> {
  const { routineId, by, operator, at, signature, public_key } = command;
  const row = yield* routineNamed(routineId);
  if (row === null || !seesAs(row.image, viewerOf(command))) return failed(noRoutine(routineId));
  const here = yield* homeHere(row.id);
  if ('elsewhere' in here) return failed(here.elsewhere);
  const before = row.image;
  if (before.state === 'frozen') return decided({ routine: before }, []);
  if (!operator && before.created_by !== by)
    return fail('FORBIDDEN', `${by} may not freeze it: it was made by ${before.created_by}`);
  if (Math.abs(Date.parse(at) - context.nowMs) > SIGNED_SKEW_MS)
    return fail('ATTESTATION_FAILED', 'the clock of the node that signed differs too much from this one');
  const frozen: Routine = { ...before, state: 'frozen', frozen_at: at, signature, public_key };
  if (!(yield* isSoundlySigned(frozen)))
    return fail('ATTESTATION_FAILED', 'the signature of the routine is not valid');
  const image = yield* numbered(row.id, frozen);
  const written = yield* putRecord(routineKind, row, image);
  const payload = { routine_id: routineId, namespace: image.namespace };
  const event = { agentId: by, type: 'coordination.routine_freeze', payload };
  const decision = { value: { routine: image }, mutations: [written, appendAudit({ event })] };
  return yield* chargedBy(decision, command, context);
}

function* isSoundlySigned(routine: Routine): Reading<boolean> {
  const { signature, public_key: publicKey, parameters, template } = routine;
  if (signature === null || publicKey === null) return signature === publicKey;
  const digests = new Map<string, Uint8Array>();
  for (const text of [parameters, canonicalJson(template)])
    digests.set(text, new Uint8Array(Buffer.from(yield* digestOfText({ text }), 'hex')));
  const crypto: Pick<Crypto, 'sha256'> = { sha256: (text) => digests.get(String(text))! };
  const data = routineEnvelopeBytes(signableOf(routine), crypto);
  return yield* signatureHolds({ publicKey, signature, data });
}

/**
 * Makes all actions of a routine, with the edges between them, or a failed run that says why and no action.
 * ROUTINE_NOT_FROZEN for a draft.
 */
function* decideRunRoutine(command: RunRoutine, context: DecisionContext): Deciding<RunOutcome> {
  const { routineId, runId, by, metadata } = command;
  const id = homeId(yield* ownPeer(), runId);
  // The call may be one that was sent before and not answered.
  const known = yield* recordRow(routineRunKind, id);
  if (known !== null) return decided({ run: known.image }, []);
  const row = yield* routineNamed(routineId);
  if (row === null || !seesAs(row.image, viewerOf(command))) return failed(noRoutine(routineId));
  const routine = row.image;
  if (routine.state !== 'frozen')
    return fail('ROUTINE_NOT_FROZEN', 'routine must be frozen before it can be run', {
      routine_id: routineId,
    });
  const made = yield* actionsOf(routine, command, context);
  const { namespace } = routine;
  const run: RoutineRun = yield* numbered(id, {
    ...{ run_id: runId, maker: yield* ownPeer(), routine_id: routineId, namespace },
    arguments: command.arguments,
    state: made.ok ? 'completed' : 'failed',
    created_action_ids: made.ok ? made.value.ids : [],
    ...{ created_by: by, started_at: context.now, finished_at: context.now },
    error: made.ok ? null : made.error.message,
    ...{ metadata, rest: NO_REST },
  });
  const written = yield* putRecord(routineRunKind, { id, namespace }, run);
  const payload = { routine_id: routineId, run_id: runId, namespace, state: run.state };
  const event = { agentId: by, type: 'coordination.routine_run', payload };
  const mutations = [...(made.ok ? made.value.mutations : []), written, appendAudit({ event })];
  return yield* chargedBy({ value: { run }, mutations }, command, context);
}

interface MadeActions {
  readonly ids: readonly string[];
  readonly mutations: readonly Mutation[];
}

/** The actions of a run; they belong to the creator of the routine, as the reference has it. */
function* actionsOf(
  routine: Routine,
  { actionIds, by, arguments: given }: RunRoutine,
  context: DecisionContext,
): Reading<Result<MadeActions>> {
  const filled = filledTemplate(routine, given);
  if (!filled.ok) return filled;
  const { actions, edges } = filled.value;
  if (actions.length !== actionIds.length)
    return fail('VALIDATION_FAILED', 'the routine changed while it began to run; run it again');
  const { namespace, created_by: agentId } = routine;
  const plan: ActionPlan = {
    actions: actions.map(({ kind: actionKind, title, payload, priority }, at) => ({
      ...{ id: actionIds[at]!, namespace, actionKind, title, payload, priority, agentId, metadata: {} },
    })),
    edges,
    createdBy: by,
  };
  const planned = yield* planActions(plan, context);
  return planned.ok ? ok({ ids: actionIds, mutations: planned.value.mutations }) : failed(planned.error);
}

const noRoutine = (id: string): Failure => failure('NOT_FOUND', `routine not found: ${id}`);

/** The routine of an id. One that this node made comes before one of another node with the same id. */
function* routineNamed(routineId: string): Reading<Row<Routine> | null> {
  const self = yield* ownPeer();
  const asked = { kind: routineKind.name, member: 'routine_id', value: routineId, limit: SAME_ID_MAX };
  const found = yield* recordsWith(asked);
  const row = found.find(({ image }) => (image as Routine).maker === self) ?? found[0];
  return row === undefined ? null : yield* recordRow(routineKind, row.id);
}

/** Leaves what another node decides, and what has not ended or ended lately. */
function* decideSweepRuns({ ids, before }: SweepRuns): Deciding<SweepRunsOutcome> {
  const removals: Mutation[] = [];
  for (const id of ids.slice(0, SWEEP_BATCH_MAX)) {
    const row = yield* recordRow(routineRunKind, id);
    const ended = row?.image.finished_at ?? null;
    if (row === null || ended === null || ended > before || 'elsewhere' in (yield* homeHere(id))) continue;
    const facts = yield* numbered(id, { rest: NO_REST });
    removals.push({ ...dropRecord(routineRunKind, row, 'ended'), facts });
  }
  return decided({ removed: removals.length }, removals);
}

export const sweepRunsCommand = defineCommand({
  kind: 'sweep-runs',
  decide: decideSweepRuns,
  gate: 'upkeep',
});

export const createRoutineCommand = defineCommand({
  kind: 'create-routine',
  decide: decideCreateRoutine,
  gate: 'no memory',
});

export const freezeRoutineCommand = defineCommand({
  kind: 'freeze-routine',
  decide: decideFreezeRoutine,
  gate: 'no memory',
  read: passed<FreezeRoutine>('freeze-routine', {
    ...{ ...isActing, routineId: isId, at: instant, signature: isBytes, public_key: isBytes },
  }),
  forwarded: true,
});

export const runRoutineCommand = defineCommand({
  kind: 'run-routine',
  decide: decideRunRoutine,
  gate: 'no memory',
});
