import { ACTION_CYCLE_ACTIONS_MAX, ACTION_EDGES_MAX } from '../base/limits.js';
import type { PeerId } from '../base/meanings.js';
import { type Failure, failure } from '../base/result.js';
import { type Home, homeOf, notHome } from '../decide/home.js';
import { ownOrigin, type Reading, recordsWith } from '../decide/reads.js';
import { recordRow } from '../decide/record-writes.js';
import type { Row } from '../decide/rows.js';
import { homeId } from '../kinds/home.js';
import { peerOfOrigin } from '../log/wire-operation.js';
import { type Action, type ActionState, actionKind, isFinished } from './action-kind.js';
import { type ActionEdge, edgeKind, type Waiting, waitingOf } from './edge-kind.js';

/** Something that an action waits for. */
export interface Prerequisite {
  readonly id: string;
  readonly edge_type: string;
  /** The state of what it waits for; "unknown" where this node has no such action. */
  readonly state: string;
  /** True where it has ended in a way that will not let the action begin. */
  readonly failed: boolean;
  /** True where it waits, through others, for the action itself. */
  readonly cycle?: true;
}

/** This node in the mesh. */
export function* ownPeer(): Reading<PeerId> {
  return peerOfOrigin((yield* ownOrigin()).origin);
}

/** The home of a subject where it is this node, or the failure that names the other one. */
export function* homeHere(id: string): Reading<{ readonly home: Home } | { readonly elsewhere: Failure }> {
  const home = yield* homeOf(id);
  return home.peerId === (yield* ownPeer()) ? { home } : { elsewhere: notHome(id, home) };
}

/** The action with an id. One that this node made comes first: a record of another node cannot stand before it. */
export function* actionRow(actionId: string): Reading<Row<Action> | null> {
  const own = yield* recordRow(actionKind, homeId(yield* ownPeer(), actionId));
  if (own !== null) return own;
  const asked = { kind: actionKind.name, member: 'action_id', value: actionId, limit: 1 };
  const [found] = yield* recordsWith(asked);
  return (found as Row<Action> | undefined) ?? null;
}

export const noAction = (id: string): Failure => failure('NOT_FOUND', `action not found: ${id}`);

/** The edges of an action, in both directions. */
export function* edgesOf(actionId: string): Reading<readonly Row<ActionEdge>[]> {
  const asked = { kind: edgeKind.name, value: actionId, limit: ACTION_EDGES_MAX };
  const out = yield* recordsWith({ ...asked, member: 'from_action' });
  const into = yield* recordsWith({ ...asked, member: 'to_action' });
  return [...out, ...into] as readonly Row<ActionEdge>[];
}

/** An edge that makes one action wait. */
interface Wait extends Waiting {
  readonly edge: ActionEdge;
}

/** What an action waits for, whether that has ended or not. An edge of another namespace does not count. */
export function* waitsOf(actionId: string, namespace: string): Reading<readonly Wait[]> {
  const edges = (yield* edgesOf(actionId)).map(({ image }) => image);
  return edges.flatMap((edge) => {
    const waiting = edge.namespace === namespace ? waitingOf(edge) : null;
    return waiting === null || waiting.waits !== actionId ? [] : [{ ...waiting, edge }];
  });
}

/** What stands between an action and its claim; empty for one that may be claimed. */
export function* prerequisitesOf({
  action_id: id,
  namespace,
}: Pick<Action, 'action_id' | 'namespace'>): Reading<readonly Prerequisite[]> {
  const missing: Prerequisite[] = [];
  for (const { for: other, until, edge } of yield* waitsOf(id, namespace)) {
    const state = (yield* actionRow(other))?.image.state ?? 'unknown';
    if (hasCome(state, until)) continue;
    const failed = state !== 'unknown' && isFinished(state as ActionState);
    const cycle = !failed && (yield* leadsTo(other, id)) === 'leads';
    missing.push({ id: other, edge_type: edge.edge_type, state, failed, ...(cycle ? { cycle } : {}) });
  }
  return missing;
}

/** True for a state that ends the waiting for an action. */
export const hasCome = (state: string, until: Waiting['until']): boolean =>
  until === 'done' ? state === 'done' : state !== 'unknown' && isFinished(state as ActionState);

/**
 * Whether an action waits for another one, through others or by itself. "too many" where it waits for more actions than a
 * search looks at.
 */
export function* leadsTo(from: string, to: string): Reading<'leads' | 'does not' | 'too many'> {
  const seen = new Set([from]);
  for (const id of seen) {
    if (id === to) return 'leads';
    if (seen.size > ACTION_CYCLE_ACTIONS_MAX) return 'too many';
    const row = yield* actionRow(id);
    if (row === null) continue;
    for (const wait of yield* waitsOf(id, row.image.namespace)) seen.add(wait.for);
  }
  return 'does not';
}
