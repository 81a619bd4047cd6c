import { ACTION_EDGES_MAX, REMOVE_BATCH_MAX } from '../base/limits.js';
import type { Instant } from '../base/meanings.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, decided } from '../decide/deciding.js';
import { numbered } from '../decide/home.js';
import { dropRows } from '../decide/local-rows.js';
import type { Mutation } from '../decide/mutations.js';
import type { Reading } from '../decide/reads.js';
import { dropRecord, recordRow } from '../decide/record-writes.js';
import { NO_REST } from '../kinds/payload.js';
import { type Action, actionKind, isFinished } from './action-kind.js';
import { actionRow, edgesOf, hasCome } from './action-rows.js';
import { type ActionEdge, edgeKind, waitingOf } from './edge-kind.js';
import { homeHere } from './home-here.js';
import { leaseKind, leaseTermKind } from './lease-kind.js';

/** Removes actions that finished long ago, with their edges and leases. Only their home does. */
export interface SweepActions {
  readonly kind: 'sweep-actions';
  readonly ids: readonly string[];
  readonly before: Instant;
}

/**
 * Leaves an action of another home, one that is not finished or finished later, one whose failure still stops another
 * action, and what is beyond a batch.
 */
function* decideSweep({ ids, before }: SweepActions): Deciding<{ readonly removed: number }> {
  const mutations: Mutation[] = [];
  let removed = 0;
  for (const actionId of ids) {
    if (mutations.length + ACTION_EDGES_MAX > REMOVE_BATCH_MAX && removed > 0) break;
    const row = yield* actionRow(actionId);
    if (row === null || !isFinished(row.image.state) || row.image.updated_at > before) continue;
    const { id } = row;
    if ('elsewhere' in (yield* homeHere(id))) continue;
    const edges = yield* edgesOf(row.image.action_id);
    if (
      yield* stopsAnother(
        row.image,
        edges.map(({ image }) => image),
      )
    )
      continue;
    const facts = yield* numbered(id, { rest: NO_REST });
    mutations.push({ ...dropRecord(actionKind, row, 'finished'), facts });
    mutations.push(...edges.map((edge) => dropRecord(edgeKind, edge, 'action_removed')));
    const lease = yield* recordRow(leaseKind, id);
    if (lease !== null) mutations.push({ ...dropRecord(leaseKind, lease, 'action_removed'), facts });
    mutations.push(dropRows(leaseTermKind, { lease_id: id }));
    removed += 1;
  }
  return decided({ removed }, mutations);
}

/** True while an action waits for this one, which has not come to what that one waits for. */
function* stopsAnother({ action_id: id, state }: Action, edges: readonly ActionEdge[]): Reading<boolean> {
  for (const edge of edges) {
    const waiting = waitingOf(edge);
    if (waiting === null || waiting.for !== id || hasCome(state, waiting.until)) continue;
    const waiter = yield* actionRow(waiting.waits);
    if (waiter !== null && !isFinished(waiter.image.state)) return true;
  }
  return false;
}

export const sweepActionsCommand = defineCommand({
  kind: 'sweep-actions',
  decide: decideSweep,
  gate: 'upkeep',
});
