import { z } from 'zod';
import { PAGE_SIZE_MAX } from '../../../protocol/base/limits.js';
import { failed, ok, type Result } from '../../../protocol/base/result.js';
import {
  ACTION_STATES,
  type Action,
  type ActionState,
  actionKind,
  isFinished,
} from '../../../protocol/coordination/action-kind.js';
import { checkpointKind } from '../../../protocol/coordination/checkpoint-kind.js';
import { leaseKind, leaseTermKind } from '../../../protocol/coordination/lease-kind.js';
import { signalKind } from '../../../protocol/coordination/signal-kind.js';
import { epochSeconds } from '../../../protocol/coordination/signed.js';
import { type FindRecords, rowsOf, type Where } from '../../../protocol/kinds/find.js';
import type { Kind } from '../../../protocol/kinds/kind.js';
import type { ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { actionOutput, prerequisiteOutput, shownAction } from './action-fields.js';
import { checkpointOutput, shownCheckpoint } from './checkpoints.js';
import { leaseOutput, shownLease } from './leases.js';
import { shownSignals, signalOutput } from './signal-fields.js';

/** Finished actions of each state that a board shows. */
const FINISHED_SHOWN = 5;

const boardAction = actionOutput.omit({ payload: true, metadata: true, vector_clock: true }).extend({
  lease: leaseOutput.nullable(),
  blocked_by: z.array(prerequisiteOutput),
});

/** Shows the work of a namespace, or of all, at one look; the command `board` draws it. */
export const coordinationBoard = defineOperation({
  name: 'coordination_board',
  family: 'power',
  summary: 'Show actions with their leases, open signals and open checkpoints.',
  input: z.object({
    namespace: fields.namespace.optional(),
    limit: fields.listLimit(PAGE_SIZE_MAX, PAGE_SIZE_MAX, 'rows of a list'),
  }),
  output: z.object({
    at: z.int().describe('The clock of the node, in epoch seconds'),
    actions: z.array(boardAction),
    signals: z.array(signalOutput),
    checkpoints: z.array(checkpointOutput),
    more: z.array(z.string()).describe('States of actions, or lists, of which there is more'),
  }),
  effect: 'read',
  guards: {},
  http: [{ method: 'GET', path: '/board', fields: 'query' }],
  run: async (call, asked) => {
    const more: string[] = [];
    const actions = await actionsOf(call, asked, more);
    if (!actions.ok) return failed(actions.error);
    const signals = await signalsOf(call, asked, more);
    if (!signals.ok) return failed(signals.error);
    const where = { ...inNamespace(asked), state: 'pending' };
    const checkpoints = await newest(call, checkpointKind, where, asked.limit);
    if (!checkpoints.ok) return failed(checkpoints.error);
    if (checkpoints.value.more) more.push('checkpoints');
    const shown = checkpoints.value.rows.map((each) => shownCheckpoint(each, call.now));
    return ok({
      ...{ at: epochSeconds(call.now), actions: actions.value, signals: signals.value },
      checkpoints: shown.filter(({ state }) => state === 'pending'),
      more,
    });
  },
});

interface Asked {
  readonly namespace?: string | undefined;
  readonly limit: number;
}

const inNamespace = ({ namespace }: Asked) => (namespace === undefined ? {} : { namespace });

/** The rows that the caller sees, those first that are the latest by a member. */
async function newest<I extends object>(
  { services, caller: { viewer }, now }: ReadCall,
  kind: Kind<I>,
  where: Where,
  limit: number,
  by = 'created_at',
): Promise<Result<{ readonly rows: readonly I[]; readonly more: boolean }>> {
  const order = { by, descending: true };
  const asked: FindRecords = { kind: 'find-records', of: kind.name, where, order, limit, viewer, now };
  const found = await services.store.query({ ...asked, skipDamaged: true });
  if (!found.ok) return failed(found.error);
  return ok({ rows: rowsOf(kind, found.value), more: found.value.next !== null });
}

/** Open actions, and the last of those that are finished; each state by priority, and then the oldest. */
async function actionsOf(
  call: ReadCall,
  asked: Asked,
  more: string[],
): Promise<Result<z.input<typeof boardAction>[]>> {
  const actions: z.input<typeof boardAction>[] = [];
  for (const state of ACTION_STATES) {
    const limit = isFinished(state) ? Math.min(FINISHED_SHOWN, asked.limit) : asked.limit;
    const found = await newest(call, actionKind, { ...inNamespace(asked), state }, limit, 'updated_at');
    if (!found.ok) return failed(found.error);
    if (found.value.more) more.push(state);
    const leases = await leasesOf(call, found.value.rows);
    if (!leases.ok) return failed(leases.error);
    for (const action of [...found.value.rows].sort(byPriority)) {
      const blocked = await blockedBy(call, action, state);
      if (!blocked.ok) return failed(blocked.error);
      const { payload: _payload, metadata: _metadata, vector_clock: _clock, ...shown } = shownAction(action);
      actions.push({
        ...shown,
        lease: leases.value.get(action.action_id) ?? null,
        blocked_by: blocked.value,
      });
    }
  }
  return ok(actions);
}

const byPriority = (a: Action, b: Action): number =>
  b.priority - a.priority || (a.created_at < b.created_at ? -1 : 1);

/** The leases that are held, by their actions. */
async function leasesOf(
  { services, caller: { viewer }, now }: ReadCall,
  actions: readonly Action[],
): Promise<Result<ReadonlyMap<string, z.input<typeof leaseOutput>>>> {
  if (actions.length === 0) return ok(new Map());
  const ids = actions.map(({ action_id }) => action_id);
  const where = { action_id: { in: ids } };
  const asked = { kind: 'find-records', where, limit: ids.length, viewer, now } as const;
  const found = await services.store.query({ ...asked, of: leaseKind.name, skipDamaged: true });
  if (!found.ok) return failed(found.error);
  const counted = await services.store.query({ ...asked, of: leaseTermKind.name });
  if (!counted.ok) return failed(counted.error);
  const terms = rowsOf(leaseTermKind, counted.value);
  const held = rowsOf(leaseKind, found.value).filter(({ holder }) => holder !== null);
  return ok(
    new Map(
      held.map((lease) => {
        const { action_id, token } = lease;
        const term = terms.find((each) => each.action_id === action_id && each.token === token);
        return [action_id, shownLease(lease, term ?? null)];
      }),
    ),
  );
}

/** What a pending action waits for. */
async function blockedBy(
  { services }: ReadCall,
  { action_id: id, namespace }: Action,
  state: ActionState,
): Promise<Result<z.input<typeof prerequisiteOutput>[]>> {
  if (state !== 'pending') return ok([]);
  const found = await services.store.query({ kind: 'action-waits', id, namespace });
  return found.ok ? ok(found.value.waits.map((each) => ({ ...each }))) : failed(found.error);
}

/** Signals that their addressee has not acknowledged, and broadcasts that the caller has not read. */
async function signalsOf(
  call: ReadCall,
  asked: Asked,
  more: string[],
): Promise<Result<z.input<typeof signalOutput>[]>> {
  const where = { ...inNamespace(asked), expires_at: { after: call.now } };
  const found = await newest(call, signalKind, where, asked.limit);
  if (!found.ok) return failed(found.error);
  if (found.value.more) more.push('signals');
  const shown = await shownSignals(call, found.value.rows);
  if (!shown.ok) return failed(shown.error);
  return ok(
    shown.value.filter(({ to_agent, read_at, acknowledged_at }) =>
      to_agent === null ? read_at === null : acknowledged_at === null,
    ),
  );
}
