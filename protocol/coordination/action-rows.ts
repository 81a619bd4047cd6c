import { ACTION_CYCLE_ACTIONS_MAX, ACTION_EDGES_MAX } from '../base/limits.js';
import { type Failure, failure } from '../base/result.js';
import { type Reading, recordsWith } from '../decide/reads.js';
import { recordRow } from '../decide/record-writes.js';
import type { Row } from '../decide/rows.js';
import { homeId } from '../kinds/home.js';
import { type Action, actionKind } from './action-kind.js';
import { checkpointNamed } from './checkpoint-rows.js';
import { type ActionEdge, edgeKind, type Waiting, waitingOf } from './edge-kind.js';
import { ownPeer } from './home-here.js';

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
    const state = yield* stateOf(other, edge);
    if (hasCome(state, until)) continue;
    const failed = hasEnded(state);
    const cycle = !failed && (yield* leadsTo(other, id)) === 'leads';
    missing.push({ id: other, edge_type: edge.edge_type, state, failed, ...(cycle ? { cycle } : {}) });
  }
  return missing;
}

/** The state of what an action waits for: of an action, or of the checkpoint that gates it. */
function* stateOf(id: string, { edge_type: type }: ActionEdge): Reading<string> {
  const action = yield* actionRow(id);
  if (action !== null) return action.image.state;
  const checkpoint = type === 'gated_by' ? yield* checkpointNamed(id) : null;
  return checkpoint?.image.state ?? 'unknown';
}

const COME: readonly string[] = ['done', 'resolved'];
const FAILED: readonly string[] = ['failed', 'abandoned', 'rejected', 'expired'];
const hasEnded = (state: string): boolean => COME.includes(state) || FAILED.includes(state);

/** True for a state that ends the waiting, of an action or of a checkpoint. */
export const hasCome = (state: string, until: Waiting['until']): boolean =>
  until === 'done' ? COME.includes(state) : hasEnded(state);

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
