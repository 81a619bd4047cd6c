import { z } from 'zod';
import { PENDING_LIST_DEFAULT, PENDING_LIST_MAX } from '../../../protocol/base/limits.js';
import type { Instant } from '../../../protocol/base/meanings.js';
import { failed, ok } from '../../../protocol/base/result.js';
import { PENDING_STATES } from '../../../protocol/policies/pending-kind.js';
import type { PendingPlace, ShownPending } from '../../../protocol/policies/queries.js';
import { rulingViewer } from '../../identity/caller.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { cursorEnd, cursorField, pageCursor } from '../../pipeline/page-cursor.js';

const pending = z.looseObject({
  id: z.string(),
  action_type: z.string(),
  memory_id: z.string().nullable(),
  namespace: z.string(),
  payload: z
    .looseObject({})
    .nullable()
    .describe('What was requested; null where the caller may not see all memories that it is about'),
  requested_by: z.string().nullable(),
  requested_at: z.string(),
  expires_at: z.string(),
  status: z.enum(PENDING_STATES),
  approver: z
    .union([z.literal('human'), z.object({ agent: z.string() }), z.object({ consensus: z.int() })])
    .describe('Who decides, as a policy names it'),
  approvals: z.array(z.object({ agent_id: z.string(), approved_at: z.string() })),
  votes: z.int().describe('Votes for it that this node knows'),
  decided_by: z.string().nullable(),
  decided_at: z.string().nullable(),
});

/** Lists pending actions (interface §4.9, GET /pending): an admin sees all, others those that they requested or may decide. */
export const memoryPendingList = defineOperation({
  name: 'memory_pending_list',
  family: 'governance',
  summary: 'List actions that wait for approval, or were decided.',
  input: z.object({
    status: z.enum(PENDING_STATES).describe('Only actions in this state').optional(),
    namespace: fields.namespace.describe('Only actions in this namespace').optional(),
    limit: fields.listLimit(PENDING_LIST_DEFAULT, PENDING_LIST_MAX, 'actions'),
    cursor: cursorField,
  }),
  output: z.object({
    pending: z.array(pending),
    count: z.int(),
    truncated: z
      .boolean()
      .optional()
      .describe('True when older actions are left out, because the answer would be too long'),
    ...cursorEnd,
    owner_scope: z.string().nullable().describe('Null for a caller that sees all'),
  }),
  effect: 'read',
  guards: {},
  http: [{ method: 'GET', path: '/pending', fields: 'query' }],
  mcp: { description: 'List changes that are waiting for approval, or were decided.' },
  cli: {
    command: 'pending list',
    view: 'object',
    table: {
      id: 'id',
      status: 'status',
      action_type: 'action',
      namespace: 'namespace',
      requested_by: 'requested by',
      requested_at: 'requested at',
      votes: 'votes',
    },
    examples: ['pending list --status pending'],
  },
  run: async (call, input) => {
    const cursor = pageCursor<PendingPlace>(call, 'memory_pending_list', input);
    if (!cursor.ok) return cursor;
    const { caller, services, now } = call;
    const { status = null, namespace = null, limit } = input;
    const viewer = rulingViewer(caller);
    const listed = await services.store.query({
      ...{ kind: 'list-pendings', status, namespace, limit, viewer, now, after: cursor.value.after },
    });
    if (!listed.ok) return failed(listed.error);
    const rows = listed.value.pending.map((action) => shownPending(action, now));
    return ok({
      pending: rows,
      count: rows.length,
      ...(listed.value.truncated ? { truncated: true } : {}),
      ...cursor.value.end({ next: listed.value.next, nextOffset: null }),
      owner_scope: viewer.all ? null : caller.agentId,
    });
  },
});

/** What callers see of an action; what the mesh and the execution need of it stays inside. */
function shownPending(action: ShownPending, now: Instant): z.input<typeof pending> {
  const { pending_id: id, action_type, namespace, requested_by, requested_at, expires_at } = action;
  const { payload, votes, decided_by, decided_at } = action;
  const isLate = action.status === 'pending' && expires_at <= now;
  return {
    ...{ id, action_type, memory_id: payload === null ? null : action.memory_id, namespace },
    payload: payload === null ? null : { ...payload },
    ...{ requested_by, requested_at, expires_at, status: isLate ? 'expired' : action.status },
    approver: approverJson(action.approver),
    approvals: [...action.approvals],
    ...{ votes, decided_by, decided_at },
  };
}

/** The approver of a pending action as a policy names it. */
function approverJson({ form, agent, votes }: ShownPending['approver']): Output['approver'] {
  if (form === 'agent') return { agent: String(agent) };
  return form === 'consensus' ? { consensus: Number(votes) } : 'human';
}

type Output = z.output<typeof pending>;
