import type { Viewer } from '../../../protocol/base/viewer.js';
import { type Action, actionKind, maySeeAction } from '../../../protocol/coordination/action-kind.js';
import { checkpointKind } from '../../../protocol/coordination/checkpoint-kind.js';
import { edgeKind } from '../../../protocol/coordination/edge-kind.js';
import type { ActionFrontier, Frontier, StuckAction } from '../../../protocol/coordination/queries.js';
import { literal, memberSql, type RecordSqlRow, recordImageOf } from '../kinds/record-table.js';
import type { QueryParts } from './query-parts.js';

const member = (row: string, name: string) => memberSql(name, row);
const ACTIONS = `kind = '${literal(actionKind.name)}'`;
const CHECKPOINTS = `kind = '${literal(checkpointKind.name)}'`;
const EDGES = `kind = '${literal(edgeKind.name)}'`;

/** True where an action with an id has one of some states. */
const isIn = (id: string, ...states: readonly string[]) =>
  `EXISTS (SELECT 1 FROM records b WHERE b.${ACTIONS} AND ${member('b', 'action_id')} = ${id}
     AND ${member('b', 'state')} IN (${states.map((state) => `'${state}'`).join(', ')}))`;

/** The edges of a namespace that make an action wait, by their types; `other` is what it waits for. */
const waits = (end: 'from_action' | 'to_action', types: readonly string[], come: readonly string[]) => {
  const other = member('e', end === 'from_action' ? 'to_action' : 'from_action');
  return `EXISTS (SELECT 1 FROM records e WHERE e.${EDGES} AND ${member('e', end)} = ${member('a', 'action_id')}
    AND ${member('e', 'edge_type')} IN (${types.map((type) => `'${type}'`).join(', ')})
    AND e.namespace = a.namespace AND NOT ${isIn(other, ...come)})`;
};
/** True where a checkpoint with an id was resolved. */
const isResolved = (id: string) =>
  `EXISTS (SELECT 1 FROM records c WHERE c.${CHECKPOINTS} AND ${member('c', 'checkpoint_id')} = ${id}
     AND ${member('c', 'state')} = 'resolved')`;
const GATED = `EXISTS (SELECT 1 FROM records e WHERE e.${EDGES}
  AND ${member('e', 'from_action')} = ${member('a', 'action_id')} AND ${member('e', 'edge_type')} = 'gated_by'
  AND e.namespace = a.namespace AND NOT ${isIn(member('e', 'to_action'), 'done')}
  AND NOT ${isResolved(member('e', 'to_action'))})`;
const READY = [
  waits('from_action', ['requires'], ['done']),
  GATED,
  waits('to_action', ['unlocks'], ['done']),
  waits('to_action', ['blocks'], ['done', 'failed', 'abandoned']),
]
  .map((waiting) => `NOT ${waiting}`)
  .join(' AND ');

const PENDING = `a.${ACTIONS} AND a.namespace = @namespace AND ${member('a', 'state')} = 'pending'`;
const PRIORITY = member('a', 'priority');
/** The next lower priority; the index has no other order. */
const NEXT_PRIORITY = `SELECT max(${PRIORITY}) FROM records a WHERE ${PENDING} AND ${PRIORITY} < @below`;
const OF_PRIORITY = `SELECT a.id, a.payload FROM records a WHERE ${PENDING} AND ${PRIORITY} = @priority
  AND (@agentId IS NULL OR ${member('a', 'agent_id')} IS NULL OR ${member('a', 'agent_id')} = @agentId)
  AND ${READY} ORDER BY ${member('a', 'created_at')}, ${member('a', 'action_id')}`;

/** Pending actions that wait for an action, or a checkpoint, that has failed, with the edge. */
const stuckOn = (
  rows: string,
  id: string,
  state: string,
  [other, waiter, types]: readonly [other: string, waiter: string, types: string],
) => `SELECT a.payload, ${member('b', id)} AS other, ${member('e', 'edge_type')} AS edge_type, '${state}' AS state
    FROM records b CROSS JOIN records e CROSS JOIN records a
    WHERE b.${rows} AND b.namespace = @namespace AND ${member('b', 'state')} = '${state}'
      AND e.${EDGES} AND ${member('e', other)} = ${member('b', id)}
      AND ${member('e', 'edge_type')} IN (${types}) AND e.namespace = @namespace
      AND a.${ACTIONS} AND ${member('a', 'action_id')} = ${member('e', waiter)}
      AND ${member('a', 'state')} = 'pending' AND a.namespace = @namespace`;
const BEFORE = ['to_action', 'from_action', "'requires', 'gated_by'"] as const;
const UNLOCKS = ['from_action', 'to_action', "'unlocks'"] as const;
const GATES = ['to_action', 'from_action', "'gated_by'"] as const;
const STUCK = [
  ...['failed', 'abandoned'].flatMap((state) => [
    stuckOn(ACTIONS, 'action_id', state, BEFORE),
    stuckOn(ACTIONS, 'action_id', state, UNLOCKS),
  ]),
  ...['rejected', 'expired'].map((state) => stuckOn(CHECKPOINTS, 'checkpoint_id', state, GATES)),
].join(' UNION ALL ');

interface StuckSqlRow {
  readonly payload: string;
  readonly other: string;
  readonly edge_type: string;
  readonly state: string;
}

/** The actions of a namespace that wait for nothing, and some that wait in vain. */
export function actionFrontier(parts: QueryParts, query: ActionFrontier): Frontier {
  return parts.statements.snapshot(() => ({ actions: ready(parts, query), stuck: stuck(parts, query) }));
}

function ready(
  { statements }: QueryParts,
  { namespace, viewer, agentId, limit }: ActionFrontier,
): readonly Action[] {
  const actions: Action[] = [];
  let below: number | null = Number.MAX_SAFE_INTEGER + 1;
  while (actions.length < limit) {
    below = statements.get(NEXT_PRIORITY).pluck().get({ namespace, below }) as number | null;
    if (below === null) break;
    const found = statements.get(OF_PRIORITY).iterate({ namespace, agentId, priority: below });
    for (const sql of found as Iterable<RecordSqlRow>) {
      const action = seen(sql, viewer);
      if (action !== null) actions.push(action);
      if (actions.length === limit) break;
    }
  }
  return actions;
}

/** The action of a row; null for one that the viewer does not see, and for a damaged one, which nobody can claim. */
function seen(sql: Pick<RecordSqlRow, 'payload'>, viewer: Viewer): Action | null {
  const action = recordImageOf(actionKind as never, sql) as Action | null;
  return action !== null && maySeeAction(action, viewer) ? action : null;
}

/** Edges that are looked at for each action that is shown as stuck. */
const EDGES_OF_STUCK = 8;

function stuck(
  { statements }: QueryParts,
  { namespace, viewer, stuckMax }: ActionFrontier,
): readonly StuckAction[] {
  if (stuckMax === 0) return [];
  const rows = statements
    .get(`SELECT * FROM (${STUCK}) LIMIT @limit`)
    .all({ namespace, limit: stuckMax * EDGES_OF_STUCK }) as StuckSqlRow[];
  const byId = new Map<string, StuckAction & { readonly blocked_by: StuckAction['blocked_by'][number][] }>();
  for (const { payload, other, edge_type, state } of rows) {
    const action = seen({ payload }, viewer);
    if (action === null) continue;
    const { action_id: id, title } = action;
    const one = byId.get(id) ?? { id, title, blocked_by: [] };
    byId.set(id, one);
    one.blocked_by.push({ id: other, edge_type, state });
  }
  return [...byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, stuckMax);
}
