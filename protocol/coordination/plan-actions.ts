import { canonicalJson } from '../base/canonical-json.js';
import { ACTION_EDGES_MAX, ACTIONS_PLANNED_MAX, EDGES_PLANNED_MAX } from '../base/limits.js';
import type { AgentId } from '../base/meanings.js';
import { fail, failed, failure, ok, type Result } from '../base/result.js';
import type { DecisionContext } from '../decide/deciding.js';
import { numbered } from '../decide/home.js';
import { appendAudit, type Mutation, type Write } from '../decide/mutations.js';
import { type Reading, tombstoneOf } from '../decide/reads.js';
import { putRecord, recordRow } from '../decide/record-writes.js';
import { homeId } from '../kinds/home.js';
import { NO_REST } from '../kinds/payload.js';
import { type Action, actionKind } from './action-kind.js';
import { type ActionEdge, type EdgeType, edgeId, edgeKind, waitingOf } from './edge-kind.js';
import { ownPeer } from './home-here.js';

/** An action that somebody wants to be made. */
export interface NewAction {
  /** A new UUID. */
  readonly id: string;
  readonly namespace: string;
  readonly actionKind: string;
  readonly title: string;
  readonly payload: unknown;
  readonly priority: number;
  /** The owner; null for an action of everybody. */
  readonly agentId: AgentId | null;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** An edge between two actions that are made together, by their places in the list. */
export interface PlannedEdge {
  readonly from: number;
  readonly to: number;
  readonly type: EdgeType;
}

/** Actions that are made together, with the edges between them. */
export interface ActionPlan {
  readonly actions: readonly NewAction[];
  readonly edges: readonly PlannedEdge[];
  readonly createdBy: AgentId;
}

export interface PlannedActions {
  readonly actions: readonly Action[];
  readonly mutations: readonly Mutation[];
}

/**
 * Makes actions and the edges between them inside the transaction of a rule. This node is their home. VALIDATION_FAILED
 * for an edge that names no two actions of the plan; ACTION_CYCLE for edges that make actions wait for each other.
 */
export function* planActions(
  { actions: asked, edges, createdBy }: ActionPlan,
  { now }: DecisionContext,
): Reading<Result<PlannedActions>> {
  if (asked.length > ACTIONS_PLANNED_MAX || edges.length > EDGES_PLANNED_MAX) {
    const message = `at most ${ACTIONS_PLANNED_MAX} actions with ${EDGES_PLANNED_MAX} edges are made together`;
    return fail('VALIDATION_FAILED', message);
  }
  const problem = edgesProblem(asked, edges);
  if (problem !== null) return failed(problem);
  const self = yield* ownPeer();
  const actions: Action[] = [];
  const mutations: Mutation[] = [];
  for (const one of asked) {
    const id = homeId(self, one.id);
    // The call may be one that was sent before and not answered.
    const known = yield* recordRow(actionKind, id);
    if (known === null && (yield* tombstoneOf({ kind: actionKind.name, id })) !== null)
      return fail('CONFLICT', `the action ${one.id} was removed; send a new request`);
    const action = known?.image ?? (yield* numbered(id, newAction(one, createdBy, now)));
    actions.push(action);
    if (known !== null) continue;
    mutations.push(yield* putRecord(actionKind, { id, namespace: one.namespace }, action));
    const payload = { action_id: one.id, namespace: one.namespace };
    mutations.push(
      appendAudit({ event: { agentId: createdBy, type: 'coordination.action_create', payload } }),
    );
  }
  for (const { from, to, type } of distinct(edges))
    mutations.push(...(yield* edgeWrites(edgeOf(actions[from]!, actions[to]!, type, createdBy, now))));
  return ok({ actions, mutations });
}

function newAction(
  { id, namespace, actionKind: action_kind, title, payload, priority, agentId, metadata }: NewAction,
  created_by: AgentId,
  now: string,
): Action {
  return {
    ...{ action_id: id, namespace, action_kind, title, priority, metadata, created_by },
    payload: canonicalJson(payload),
    ...{ state: 'pending', agent_id: agentId, claimed_by: null, created_at: now, updated_at: now },
    ...{ last: null, rest: NO_REST },
  };
}

/** The edge of two actions, in the namespace of the one that waits. */
export function edgeOf(
  from: Pick<Action, 'action_id' | 'namespace'>,
  to: Pick<Action, 'action_id' | 'namespace'>,
  edge_type: EdgeType,
  created_by: AgentId,
  created_at: string,
): ActionEdge {
  const ends = { from_action: from.action_id, to_action: to.action_id, edge_type };
  const waits = waitingOf(ends)?.waits ?? from.action_id;
  const { namespace } = waits === from.action_id ? from : to;
  return { ...ends, namespace, created_by, created_at, rest: NO_REST };
}

/** The writes that make an edge; none where it is there. */
export function* edgeWrites(edge: ActionEdge): Reading<readonly Mutation[]> {
  const id = edgeId(edge);
  if ((yield* recordRow(edgeKind, id)) !== null) return [];
  const write: Write<ActionEdge> = yield* putRecord(edgeKind, { id, namespace: edge.namespace }, edge);
  const { from_action, to_action, edge_type, created_by: agentId } = edge;
  const payload = { from_action, to_action, edge_type };
  return [write, appendAudit({ event: { agentId, type: 'coordination.action_add_edge', payload } })];
}

/** An edge that a plan names twice is made once: a transaction writes no record twice. */
const distinct = (edges: readonly PlannedEdge[]): readonly PlannedEdge[] => [
  ...new Map(edges.map((edge) => [`${edge.from}|${edge.to}|${edge.type}`, edge])).values(),
];

function edgesProblem(actions: readonly NewAction[], edges: readonly PlannedEdge[]) {
  const waits = new Map<number, number[]>();
  const counts = new Map<number, number>();
  for (const { from, to, type } of distinct(edges)) {
    const isPlace = (place: number) => Number.isInteger(place) && place >= 0 && place < actions.length;
    if (!isPlace(from) || !isPlace(to)) {
      const message = `an edge goes from ${from} to ${to}, and the actions are 0 to ${actions.length - 1}`;
      return failure('VALIDATION_FAILED', message, { fields: ['edges'] });
    }
    if (from === to) {
      const message = `an edge goes from action ${from} to itself`;
      return failure('VALIDATION_FAILED', message, { fields: ['edges'] });
    }
    for (const place of [from, to]) counts.set(place, (counts.get(place) ?? 0) + 1);
    const waiting = waitingOf({ from_action: String(from), to_action: String(to), edge_type: type });
    if (waiting === null) continue;
    const place = Number(waiting.waits);
    waits.set(place, [...(waits.get(place) ?? []), Number(waiting.for)]);
  }
  const full = [...counts].find(([, count]) => count > ACTION_EDGES_MAX);
  if (full !== undefined) {
    const message = `action ${full[0]} has ${full[1]} edges, and ${ACTION_EDGES_MAX} are the most`;
    return failure('VALIDATION_FAILED', message, { fields: ['edges'] });
  }
  const circular = inCycles(waits);
  const back = edges.find(
    ({ from, to, type }) => type !== 'sibling' && circular.has(from) && circular.has(to),
  );
  if (back === undefined) return null;
  const [from_action, to_action] = [actions[back.from]!.id, actions[back.to]!.id];
  return failure('ACTION_CYCLE', `actions ${back.from} and ${back.to} would wait for each other`, {
    from_action,
    to_action,
  });
}

/** The places that can never be reached, because each waits for another one of them. */
function inCycles(waits: Map<number, readonly number[]>): ReadonlySet<number> {
  const left = new Map(waits);
  let before: number;
  do {
    before = left.size;
    for (const [place, others] of left) if (!others.some((other) => left.has(other))) left.delete(place);
  } while (left.size < before);
  return new Set(left.keys());
}
