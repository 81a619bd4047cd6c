import { z } from 'zod';
import {
  ACTION_EDGES_MAX,
  ACTION_FRONTIER_LIMIT,
  ACTION_JSON_BYTES_MAX,
  ACTION_KIND_LENGTH_MAX,
  ACTION_LIST_LIMIT,
  ACTION_PRIORITY_MAX,
  ACTIONS_STUCK_SHOWN,
  PAGE_SIZE_MAX,
} from '../../../protocol/base/limits.js';
import { failed, ok, type Result } from '../../../protocol/base/result.js';
import { ACTION_STATES, actionKind } from '../../../protocol/coordination/action-kind.js';
import { EDGE_TYPES, type EdgeType } from '../../../protocol/coordination/edge-kind.js';
import type { Frontier } from '../../../protocol/coordination/queries.js';
import { rowsOf } from '../../../protocol/kinds/find.js';
import type { ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { actingAgent } from './acting-agent.js';
import {
  actionAt,
  actionId,
  actionOutput,
  actionState,
  edgeOutput,
  edgesAt,
  prerequisiteOutput,
  shownAction,
  shownEdge,
  shownTransition,
  transitionOutput,
} from './action-fields.js';
import { afterMark, markOf, pageEnd } from './list-page.js';

/** Makes an action that agents can claim. */
export const memoryActionCreate = defineOperation({
  name: 'memory_action_create',
  family: 'power',
  summary: 'Make an action: a piece of work that an agent can claim.',
  input: z.object({
    namespace: fields.ordinaryNamespace,
    kind: fields.words(ACTION_KIND_LENGTH_MAX).describe('What kind of work it is'),
    title: fields.title.describe('What is to be done'),
    payload: fields.jsonValue(ACTION_JSON_BYTES_MAX).describe('Any JSON that the worker needs').optional(),
    priority: z
      .int()
      .min(-ACTION_PRIORITY_MAX)
      .max(ACTION_PRIORITY_MAX)
      .default(0)
      .describe('The frontier shows higher numbers first'),
    agent_id: fields.agentId
      .describe('The owner, who alone may claim it: the caller. Absent for an action of everybody')
      .nullish(),
    metadata: fields.jsonObject(ACTION_JSON_BYTES_MAX).default({}).describe('Further members'),
  }),
  output: z.object({ id: z.string(), action: actionOutput }),
  effect: 'write',
  guards: { attestation: 'by-name' },
  repeatable: true,
  mcp: {
    description:
      'Create a task (action) for agents to pick up, now or once the actions it waits for are done. Answers its id; order tasks with memory_action_add_edge.',
  },
  run: async (call, asked) => {
    const by = actingAgent(call, asked.agent_id ?? undefined, 'agent_id');
    if (!by.ok) return failed(by.error);
    const { viewer, agentId } = call.caller;
    const { namespace, kind, title, payload = {}, priority, metadata } = asked;
    const made = await call.services.store.execute({
      kind: 'create-action',
      action: {
        ...{ id: call.services.random.uuid(), namespace, actionKind: kind, title, payload, priority },
        ...{ agentId: asked.agent_id ?? null, metadata },
      },
      by: agentId,
      viewer,
    });
    if (!made.ok) return failed(made.error);
    const action = shownAction(made.value.action);
    return ok({ id: action.id, action });
  },
});

/** Shows an action with what it waits for. */
export const memoryActionGet = defineOperation({
  name: 'memory_action_get',
  family: 'power',
  summary: 'Show an action, its last transition, and the actions for which it waits.',
  input: z.object({ id: actionId }),
  output: z.object({
    action: actionOutput.nullable(),
    last_transition: transitionOutput.nullable().optional(),
    blocked_by: z.array(prerequisiteOutput).optional(),
  }),
  effect: 'read',
  guards: {},
  mcp: {
    description: 'Read a task (action): its state, its last transition, and which actions it waits for.',
  },
  run: async (call, { id }) => {
    const found = await actionAt(call, id);
    if (!found.ok) return failed(found.error);
    if (found.value === null) return ok({ action: null });
    const { namespace } = found.value;
    const blocked = await call.services.store.query({ kind: 'action-waits', id, namespace });
    if (!blocked.ok) return failed(blocked.error);
    return ok({
      action: shownAction(found.value),
      last_transition: await shownTransition(call, found.value),
      blocked_by: blocked.value.waits.map((each) => ({ ...each })),
    });
  },
});

/** Lists actions, those that changed last first. */
export const memoryActionList = defineOperation({
  name: 'memory_action_list',
  family: 'power',
  summary: 'List actions, those that changed last first.',
  input: z.object({
    namespace: fields.namespace.optional(),
    state: actionState.describe(`Only actions in it: ${ACTION_STATES.join(', ')}`).optional(),
    limit: fields.listLimit(ACTION_LIST_LIMIT, PAGE_SIZE_MAX, 'actions'),
    after: afterMark.optional(),
  }),
  output: z.object({ actions: z.array(actionOutput), ...pageEnd }),
  effect: 'read',
  guards: {},
  mcp: { description: 'List tasks (actions) with their states, those that changed last first.' },
  run: async (call, { namespace, state: of, limit, after }) => {
    const { services, caller, now } = call;
    const where = {
      ...(namespace === undefined ? {} : { namespace }),
      ...(of === undefined ? {} : { state: of }),
    };
    const found = await services.store.query({
      ...{ kind: 'find-records', of: actionKind.name, where, limit, skipDamaged: true },
      ...{ order: { by: 'updated_at', descending: true }, viewer: caller.viewer, now },
      ...(after === undefined ? {} : { after }),
    });
    if (!found.ok) return failed(found.error);
    const { next } = found.value;
    const actions = rowsOf(actionKind, found.value).map(shownAction);
    return ok({ actions, ...(next === null ? {} : { next: markOf(next) }) });
  },
});

const edgeType = z
  .string()
  .refine((word): word is EdgeType => (EDGE_TYPES as readonly string[]).includes(word), {
    error: ({ input }) => `invalid edge_type: ${String(input)}; it is one of ${EDGE_TYPES.join(', ')}`,
  })
  .describe(
    'requires and gated_by: from waits for to. blocks and unlocks: to waits for from. sibling: no order',
  );

/** Makes an edge between two actions. */
export const memoryActionAddEdge = defineOperation({
  name: 'memory_action_add_edge',
  family: 'power',
  summary: 'Make one action wait for another, or mark two as siblings.',
  input: z.object({ from_action: actionId, to_action: actionId, edge_type: edgeType }),
  output: z.object({ ok: z.literal(true) }),
  effect: 'write',
  idempotent: true,
  guards: { attestation: 'by-name' },
  repeatable: true,
  mcp: { description: 'Make one task (action) wait for another, or mark two as siblings.' },
  run: async (call, { from_action: from, to_action: to, edge_type: type }) => {
    const by = actingAgent(call, undefined, 'agent_id');
    if (!by.ok) return failed(by.error);
    const { viewer } = call.caller;
    const added = await call.services.store.execute({
      ...{ kind: 'add-action-edge', from, to, type: type as EdgeType, by: by.value, viewer },
    });
    return added.ok ? ok({ ok: true as const }) : failed(added.error);
  },
});

/** Lists the edges of an action. */
export const memoryActionEdges = defineOperation({
  name: 'memory_action_edges',
  family: 'power',
  summary: 'List the edges of an action in both directions, the oldest first.',
  input: z.object({ id: actionId }),
  output: z.object({ edges: z.array(edgeOutput), ...fields.listEnd }),
  effect: 'read',
  guards: {},
  http: [{ method: 'GET', path: '/actions/{id}/edges', fields: 'query' }],
  mcp: { description: 'List the edges of a task (action): what it waits for and what waits for it.' },
  run: async (call, { id }) => {
    const seen = await actionAt(call, id);
    if (!seen.ok) return failed(seen.error);
    if (seen.value === null) return ok({ edges: [] });
    const edges = await edgesAt(call, id, ACTION_EDGES_MAX);
    return edges.ok ? ok({ edges: edges.value.map(shownEdge) }) : failed(edges.error);
  },
});

/** Lists what may be claimed now. */
export const memoryActionFrontier = defineOperation({
  name: 'memory_action_frontier',
  family: 'power',
  summary: 'List the actions of a namespace that wait for nothing, by priority and then age.',
  input: z.object({
    namespace: fields.namespace,
    limit: fields.listLimit(ACTION_FRONTIER_LIMIT, PAGE_SIZE_MAX, 'actions'),
  }),
  output: z.object({
    actions: z.array(actionOutput),
    ...fields.listEnd,
    stuck: z
      .array(
        z.object({
          id: z.string(),
          title: z.string(),
          blocked_by: z.array(z.object({ id: z.string(), edge_type: z.string(), state: z.string() })),
        }),
      )
      .describe(`Pending actions that wait for one that failed; at most ${ACTIONS_STUCK_SHOWN}`),
  }),
  effect: 'read',
  guards: {},
  mcp: { description: 'List every task (action) of a namespace that is ready to be claimed, by priority.' },
  run: async (call, { namespace, limit }) => {
    const found = await frontier(call, { namespace, agentId: null, limit, stuckMax: ACTIONS_STUCK_SHOWN });
    if (!found.ok) return failed(found.error);
    const stuck = found.value.stuck.map((one) => ({ ...one, blocked_by: [...one.blocked_by] }));
    return ok({ actions: found.value.actions.map(shownAction), stuck });
  },
});

/** Shows the action that an agent should claim next. */
export const memoryActionNext = defineOperation({
  name: 'memory_action_next',
  family: 'power',
  summary: 'Show the first action of the frontier of a namespace.',
  input: z.object({
    namespace: fields.namespace,
    agent_id: fields.agentId.describe('Only actions of nobody and of this agent').optional(),
  }),
  output: z.object({ action: actionOutput.nullable() }),
  effect: 'read',
  guards: {},
  mcp: {
    description:
      'Show what to work on next: the one task (action) that is ready and has the highest priority. Then claim it with memory_action_transition.',
  },
  run: async (call, { namespace, agent_id: agentId = null }) => {
    const found = await frontier(call, { namespace, agentId, limit: 1, stuckMax: 0 });
    if (!found.ok) return failed(found.error);
    const [first] = found.value.actions;
    return ok({ action: first === undefined ? null : shownAction(first) });
  },
});

const frontier = (
  { services, caller: { viewer } }: ReadCall,
  asked: { namespace: string; agentId: string | null; limit: number; stuckMax: number },
): Promise<Result<Frontier>> => services.store.query({ kind: 'action-frontier', viewer, ...asked });
