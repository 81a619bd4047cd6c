import { ACTION_EDGES_MAX } from '../base/limits.js';
import { fail, failed } from '../base/result.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import type { Reading } from '../decide/reads.js';
import { recordRow } from '../decide/record-writes.js';
import { type Action, maySeeAction } from './action-kind.js';
import { actionRow, edgesOf, leadsTo, noAction } from './action-rows.js';
import { maySeeCheckpoint } from './checkpoint-kind.js';
import { checkpointNamed } from './checkpoint-rows.js';
import { type ActionEdge, type EdgeType, edgeId, edgeKind, waitingOf } from './edge-kind.js';
import { edgeOf, edgeWrites } from './plan-actions.js';

/** Makes an edge between two actions, or from an action to the checkpoint that gates it. Any node may. */
export interface AddActionEdge {
  readonly kind: 'add-action-edge';
  readonly from: string;
  readonly to: string;
  readonly type: EdgeType;
  readonly by: string;
  readonly viewer: Viewer;
}

/**
 * An edge that is there stays as it is. NOT_FOUND for an action that is not here, ACTION_CYCLE for an edge from an action to
 * itself and for one that makes actions wait for each other, VALIDATION_FAILED beyond the edges of an action.
 */
function* decideAddEdge(
  { from, to, type, by, viewer }: AddActionEdge,
  { now }: DecisionContext,
): Deciding<{ readonly edge: ActionEdge; readonly created: boolean }> {
  const details = { from_action: from, to_action: to };
  if (from === to) return fail('ACTION_CYCLE', 'an action cannot have an edge to itself', details);
  const source = yield* seenAction(from, viewer);
  const target = (yield* seenAction(to, viewer)) ?? (yield* seenGate(to, type, viewer));
  if (source === null) return failed(noAction(from));
  if (target === null) return failed(noAction(to));
  const edge = edgeOf(source, target, type, by, now);
  const known = yield* recordRow(edgeKind, edgeId(edge));
  if (known !== null) return decided({ edge: known.image, created: false }, []);
  const waiting = waitingOf(edge);
  const back = waiting === null ? 'does not' : yield* leadsTo(waiting.for, waiting.waits);
  if (back === 'leads') {
    const message = `the edge would make the actions wait for each other: ${waiting!.for} waits for ${waiting!.waits}`;
    return fail('ACTION_CYCLE', message, details);
  }
  if (back === 'too many')
    return fail('VALIDATION_FAILED', `the action ${waiting!.for} waits for too many others to add an edge`);
  for (const id of [from, to])
    if ((yield* edgesOf(id)).length >= ACTION_EDGES_MAX)
      return fail('VALIDATION_FAILED', `the action ${id} has ${ACTION_EDGES_MAX} edges, which is the most`);
  return decided({ edge, created: true }, yield* edgeWrites(edge));
}

type End = Pick<Action, 'action_id' | 'namespace'>;

function* seenAction(id: string, viewer: Viewer): Reading<End | null> {
  const row = yield* actionRow(id);
  return row !== null && maySeeAction(row.image, viewer) ? row.image : null;
}

/** The checkpoint with an id, which can only gate an action. */
function* seenGate(id: string, type: EdgeType, viewer: Viewer): Reading<End | null> {
  const row = type === 'gated_by' ? yield* checkpointNamed(id) : null;
  if (row === null || !maySeeCheckpoint(row.image, viewer)) return null;
  return { action_id: id, namespace: row.image.namespace };
}

export const addActionEdgeCommand = defineCommand({
  kind: 'add-action-edge',
  decide: decideAddEdge,
  gate: 'no memory',
});
