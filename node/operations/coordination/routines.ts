import { z } from 'zod';
import { canonicalJson } from '../../../protocol/base/canonical-json.js';
import { PAGE_SIZE_MAX } from '../../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { ACTION_STATES, actionKind } from '../../../protocol/coordination/action-kind.js';
import {
  COORDINATION_LIST_LIMIT,
  JSON_BYTES_MAX,
  REFERENCE_BYTES_MAX,
} from '../../../protocol/coordination/limits.js';
import { valueOfJson } from '../../../protocol/coordination/members.js';
import {
  ROUTINE_STATES,
  type Routine,
  type RoutineRun,
  RUN_STATES,
  routineKind,
  routineRunKind,
} from '../../../protocol/coordination/routine-kind.js';
import { templateProblem } from '../../../protocol/coordination/routine-template.js';
import {
  epochSeconds,
  epochSecondsOrNull,
  routineEnvelopeBytes,
  UNSIGNED,
} from '../../../protocol/coordination/signed.js';
import { rowsOf } from '../../../protocol/kinds/find.js';
import type { Kind } from '../../../protocol/kinds/kind.js';
import { NO_REST } from '../../../protocol/kinds/payload.js';
import type { ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { actingAgent } from './acting-agent.js';
import { afterMark, listed, nextOf, pageEnd } from './list-page.js';
import { attestLevel, signedHere } from './signatures.js';

/** A routine in an answer; instants are epoch seconds. */
const routineOutput = z.object({
  id: z.string(),
  namespace: z.string(),
  name: z.string(),
  template: z.record(z.string(), z.unknown()),
  parameters: z.array(z.unknown()),
  state: z.enum(ROUTINE_STATES),
  created_by: z.string(),
  created_at: z.int(),
  frozen_at: z.int().nullable(),
  signature: z.string().nullable(),
  signer_pubkey: z.string().nullable(),
  metadata: z.record(z.string(), z.unknown()),
});

/** A run in an answer. */
const runOutput = z.object({
  id: z.string(),
  routine_id: z.string(),
  namespace: z.string(),
  arguments: z.record(z.string(), z.unknown()),
  state: z.enum(RUN_STATES),
  created_action_ids: z.array(z.string()),
  started_at: z.int(),
  finished_at: z.int().nullable(),
  error: z.string().nullable(),
  metadata: z.record(z.string(), z.unknown()),
});

function shownRoutine(routine: Routine): z.input<typeof routineOutput> {
  const { routine_id: id, namespace, name, template, state, created_by, signature, metadata } = routine;
  const parameters = valueOfJson(routine.parameters);
  return {
    ...{ id, namespace, name, template, state, created_by, signature, signer_pubkey: routine.public_key },
    parameters: Array.isArray(parameters) ? (parameters as unknown[]) : [],
    created_at: epochSeconds(routine.created_at),
    frozen_at: epochSecondsOrNull(routine.frozen_at),
    metadata,
  };
}

function shownRun(run: RoutineRun): z.input<typeof runOutput> {
  const { run_id: id, routine_id, namespace, state, error, metadata } = run;
  return {
    ...{ id, routine_id, namespace, arguments: run.arguments, state, error, metadata },
    created_action_ids: [...run.created_action_ids],
    started_at: epochSeconds(run.started_at),
    finished_at: epochSecondsOrNull(run.finished_at),
  };
}

const template = fields.jsonObject(JSON_BYTES_MAX).superRefine((value, context) => {
  const message = templateProblem(value);
  if (message !== null) context.addIssue({ code: 'custom', message });
});
const parameters = z.array(z.unknown()).superRefine((value, context) => {
  const parsed = fields.jsonValue(JSON_BYTES_MAX).safeParse(value);
  if (!parsed.success) context.addIssue({ code: 'custom', message: parsed.error.issues[0]!.message });
});
const routineId = fields.words(REFERENCE_BYTES_MAX).describe('Id of the routine');
const runId = fields.words(REFERENCE_BYTES_MAX).describe('Id of the run');

/** Makes a routine, a template of actions. */
export const memoryRoutineCreate = defineOperation({
  name: 'memory_routine_create',
  family: 'power',
  summary: 'Make a routine, a template of actions that agents run.',
  input: z.object({
    namespace: fields.ordinaryNamespace,
    name: fields.title.describe('Name of the routine; several may share one'),
    template: template
      .default({})
      .describe(
        '{actions: [{kind, title, payload, priority}], edges: [{from, to, type}]}: edges name actions by their places, {{name}} in a text is an argument',
      ),
    parameters: parameters
      .default([])
      .describe('Arguments that it takes: {name, default, required}; other entries say what you like'),
    created_by: fields.agentId
      .describe('The maker: the caller. Only the operator names another agent')
      .optional(),
    metadata: fields.metadata.default({}).describe('Any JSON object; "scope" decides who sees it'),
  }),
  output: z.object({ id: z.string(), routine: routineOutput }),
  effect: 'write',
  guards: { attestation: 'by-name' },
  repeatable: true,
  mcp: {
    description:
      'Draft a routine: a template of tasks that can be run again with other arguments. Freeze it before the first run.',
  },
  run: async (call, { created_by, parameters: declared, ...asked }) => {
    const by = actingAgent(call, created_by, 'created_by');
    if (!by.ok) return failed(by.error);
    const { services, caller, now } = call;
    const routine: Routine = {
      ...{ routine_id: services.random.uuid(), maker: services.peerId, ...asked, state: 'draft' },
      ...{ parameters: canonicalJson(declared), created_by: by.value, created_at: now, frozen_at: null },
      ...{ ...UNSIGNED, rest: NO_REST },
    };
    const again = call.again ? { again: true as const } : {};
    const { viewer } = caller;
    const made = await services.store.execute({ kind: 'create-routine', routine, viewer, ...again });
    if (!made.ok) return failed(made.error);
    const stands = made.value.routine;
    return ok({ id: stands.routine_id, routine: shownRoutine(stands) });
  },
});

/** Freezes a routine, so that it can be run and never changes. */
export const memoryRoutineFreeze = defineOperation({
  name: 'memory_routine_freeze',
  family: 'power',
  summary: 'Freeze a routine for ever, so that agents can run it.',
  input: z.object({ id: routineId }),
  output: z.object({ routine: routineOutput, attest_level: z.enum(['self_signed', 'unsigned']) }),
  effect: 'write',
  idempotent: true,
  guards: { attestation: 'by-name' },
  repeatable: true,
  mcp: { description: 'Freeze a routine for good, so that it can be run.' },
  run: async (call, { id }) => {
    const by = actingAgent(call, undefined, 'id');
    if (!by.ok) return failed(by.error);
    const found = await seenRoutine(call, id);
    if (!found.ok) return failed(found.error);
    const { services, caller, now: at } = call;
    const data = routineEnvelopeBytes({ ...found.value, frozen_at: at }, services.crypto);
    const { all: operator, asNamespace } = caller.viewer;
    const frozen = await services.store.execute({
      ...{ kind: 'freeze-routine', routineId: id, by: by.value, operator, asNamespace, at },
      ...signedHere(call, data),
    });
    if (!frozen.ok) return failed(frozen.error);
    const { routine } = frozen.value;
    return ok({ routine: shownRoutine(routine), attest_level: attestLevel(routine) });
  },
});

/** The first record of an id that the caller sees; null where there is none. */
async function seen<I extends object>(
  { services, caller: { viewer }, now }: ReadCall,
  kind: Kind<I>,
  where: Readonly<Record<string, string>>,
): Promise<Result<I | null>> {
  const asked = { kind: 'find-records', of: kind.name, where, viewer, now, limit: 1 } as const;
  const found = await services.store.query(asked);
  return found.ok ? ok<I | null>(rowsOf(kind, found.value)[0] ?? null) : failed(found.error);
}

async function seenRoutine(call: ReadCall, id: string): Promise<Result<Routine>> {
  const found = await seen(call, routineKind, { routine_id: id });
  if (!found.ok) return failed(found.error);
  return found.value === null ? fail('NOT_FOUND', `routine not found: ${id}`) : ok(found.value);
}

/** Runs a frozen routine: makes all of its actions and the edges between them, or none. */
export const memoryRoutineRun = defineOperation({
  name: 'memory_routine_run',
  family: 'power',
  summary: 'Run a frozen routine: make its actions and the edges between them at once.',
  input: z.object({
    routine_id: routineId,
    arguments: fields.jsonObject(JSON_BYTES_MAX).describe('Arguments by name; {} for none'),
    metadata: fields.metadata.default({}).describe('Any JSON object about the run'),
  }),
  output: z.object({
    run: runOutput,
    created_action_ids: z.array(z.string()).optional(),
    error: z.string().describe('Why the run failed; it made no action').optional(),
  }),
  effect: 'write',
  guards: { attestation: 'by-name' },
  repeatable: true,
  mcp: {
    description:
      'Run a frozen routine with arguments: its tasks are created at once. Answers the id of the run.',
    aliases: { id: 'routine_id' },
  },
  run: async (call, { routine_id: id, arguments: given, metadata }) => {
    const by = actingAgent(call, undefined, 'routine_id');
    if (!by.ok) return failed(by.error);
    const found = await seenRoutine(call, id);
    if (!found.ok) return failed(found.error);
    const { services, caller } = call;
    const { actions } = found.value.template as { readonly actions?: readonly unknown[] };
    const { all: operator, asNamespace } = caller.viewer;
    const ran = await services.store.execute({
      ...{ kind: 'run-routine', routineId: id, by: by.value, operator, asNamespace, metadata },
      ...{ runId: services.random.uuid(), arguments: given },
      actionIds: (actions ?? []).map(() => services.random.uuid()),
    });
    if (!ran.ok) return failed(ran.error);
    const { run } = ran.value;
    return ok(
      run.error === null
        ? { run: shownRun(run), created_action_ids: [...run.created_action_ids] }
        : { run: shownRun(run), error: run.error },
    );
  },
});

/** Shows a run of a routine, and how far its actions are. */
export const memoryRoutineStatus = defineOperation({
  name: 'memory_routine_status',
  family: 'power',
  summary: 'Show a run of a routine, and how many of its actions are in which state.',
  input: z.object({ run_id: runId }),
  output: z.object({
    run: runOutput.nullable(),
    actions: z
      .record(z.string(), z.int())
      .describe('How many of its actions are in each state; actions that were removed do not count')
      .optional(),
  }),
  effect: 'read',
  guards: {},
  mcp: { description: 'Show how far the run of a routine is.', aliases: { id: 'run_id' } },
  run: async (call, { run_id }) => {
    const found = await seen(call, routineRunKind, { run_id });
    if (!found.ok) return failed(found.error);
    const run = found.value;
    if (run === null) return ok({ run });
    const ids = run.created_action_ids;
    const actions = await call.services.store.query({
      ...{ kind: 'find-records', of: actionKind.name, where: { action_id: { in: ids } }, limit: ids.length },
      ...{ viewer: null, now: call.now, skipDamaged: true },
    });
    if (!actions.ok) return failed(actions.error);
    const states = rowsOf(actionKind, actions.value).map(({ state }) => state);
    const counts = ACTION_STATES.map(
      (state) => [state, states.filter((each) => each === state).length] as const,
    );
    return ok({ run: shownRun(run), actions: Object.fromEntries(counts.filter(([, count]) => count > 0)) });
  },
});

/** Lists the routines of a namespace. */
export const memoryRoutineList = defineOperation({
  name: 'memory_routine_list',
  family: 'power',
  summary: 'List the routines of a namespace, the newest first.',
  input: z.object({
    namespace: fields.namespace,
    state: z.enum(ROUTINE_STATES).describe('Only drafts, or only frozen ones').optional(),
    limit: fields.listLimit(COORDINATION_LIST_LIMIT, PAGE_SIZE_MAX, 'routines'),
    after: afterMark.optional(),
  }),
  output: z.object({ routines: z.array(routineOutput), ...pageEnd }),
  effect: 'read',
  guards: {},
  mcp: { description: 'List the routines of a namespace.' },
  run: async (call, { namespace, state, limit, after }) => {
    const where = { namespace, ...(state === undefined ? {} : { state }) };
    const page = await listed(call, {
      ...{ kind: routineKind, any: [where], by: 'created_at', descending: true, after, limit },
      idOf: (routine: Routine) => routineKind.idOf(routine)!,
    });
    if (!page.ok) return failed(page.error);
    return ok({ routines: page.value.rows.map(shownRoutine), ...nextOf(page.value) });
  },
});
