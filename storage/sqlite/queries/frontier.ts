import { type Action, actionKind } from '../../../protocol/coordination/action-kind.js';
import { edgeKind } from '../../../protocol/coordination/edge-kind.js';
import type { ActionFrontier, Frontier, StuckAction } from '../../../protocol/coordination/queries.js';
import { literal, memberSql, type RecordSqlRow, recordImageOf } from '../kinds/record-table.js';
import type { QueryParts } from './query-parts.js';

const member = (row: string, name: string) => memberSql(name, row);
const ACTIONS = `kind = '${literal(actionKind.name)}'`;
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
const READY = [
  waits('from_action', ['requires', 'gated_by'], ['done']),
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
  AND ${READY} ORDER BY ${member('a', 'created_at')}, ${member('a', 'action_id')} LIMIT @limit`;

/** Pending actions that wait for one that failed, with the edge. */
const STUCK = ['failed', 'abandoned']
  .flatMap((state) =>
    (
      [
        ['to_action', 'from_action', "'requires', 'gated_by'"],
        ['from_action', 'to_action', "'unlocks'"],
      ] as const
    ).map(
      ([other, waiter, types]) => `SELECT ${member('a', 'action_id')} AS id, ${member('a', 'title')} AS title,
      ${member('b', 'action_id')} AS other, ${member('e', 'edge_type')} AS edge_type, '${state}' AS state
    FROM records b CROSS JOIN records e CROSS JOIN records a
    WHERE b.${ACTIONS} AND b.namespace = @namespace AND ${member('b', 'state')} = '${state}'
      AND e.${EDGES} AND ${member('e', other)} = ${member('b', 'action_id')}
      AND ${member('e', 'edge_type')} IN (${types}) AND e.namespace = @namespace
      AND a.${ACTIONS} AND ${member('a', 'action_id')} = ${member('e', waiter)}
      AND ${member('a', 'state')} = 'pending' AND a.namespace = @namespace`,
    ),
  )
  .join(' UNION ALL ');

interface StuckSqlRow {
  readonly id: string;
  readonly title: string;
  readonly other: string;
  readonly edge_type: string;
  readonly state: string;
}

/** The actions of a namespace that wait for nothing, and some that wait in vain. */
export function actionFrontier(parts: QueryParts, query: ActionFrontier): Frontier {
  return parts.statements.snapshot(() => ({ actions: ready(parts, query), stuck: stuck(parts, query) }));
}

function ready({ statements }: QueryParts, { namespace, agentId, limit }: ActionFrontier): readonly Action[] {
  const actions: Action[] = [];
  let below: number | null = Number.MAX_SAFE_INTEGER;
  while (actions.length < limit) {
    below = statements.get(NEXT_PRIORITY).pluck().get({ namespace, below }) as number | null;
    if (below === null) break;
    const asked = { namespace, agentId, priority: below, limit: limit - actions.length };
    for (const sql of statements.get(OF_PRIORITY).all(asked) as RecordSqlRow[]) {
      const image = recordImageOf(actionKind as never, sql);
      // A damaged row is repaired by another duty; nobody can claim it before.
      if (image !== null) actions.push(image as Action);
    }
  }
  return actions;
}

function stuck({ statements }: QueryParts, { namespace, stuckMax }: ActionFrontier): readonly StuckAction[] {
  if (stuckMax === 0) return [];
  const rows = statements
    .get(`SELECT * FROM (${STUCK}) ORDER BY id, other LIMIT @limit`)
    .all({ namespace, limit: stuckMax * 8 }) as StuckSqlRow[];
  const byId = new Map<
    string,
    { id: string; title: string; blocked_by: StuckAction['blocked_by'][number][] }
  >();
  for (const { id, title, other, edge_type, state } of rows) {
    const one = byId.get(id) ?? { id, title, blocked_by: [] };
    byId.set(id, one);
    one.blocked_by.push({ id: other, edge_type, state });
  }
  return [...byId.values()].slice(0, stuckMax);
}
