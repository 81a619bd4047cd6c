import { z } from 'zod';
import { PENDING_STATES } from '../../protocol/kinds/pending-kind.js';
import { PENDING_LIST_DEFAULT, PENDING_LIST_MAX } from '../../protocol/limits.js';
import { failed, ok } from '../../protocol/result.js';
import * as fields from '../pipeline/fields.js';
import { defineOperation } from '../pipeline/operation.js';

const pending = z.looseObject({
  id: z.string(),
  action_type: z.string(),
  memory_id: z.string().nullable(),
  namespace: z.string(),
  payload: z.looseObject({}).describe('The action as it was requested'),
  requested_by: z.string().nullable(),
  requested_at: z.string(),
  expires_at: z.string(),
  status: z.enum(PENDING_STATES),
  approver: z.looseObject({}),
  approvals: z.array(z.object({ agent_id: z.string(), approved_at: z.string() })),
  votes: z.int().describe('Votes for it that this node knows'),
  decided_by: z.string().nullable(),
  decided_at: z.string().nullable(),
});

/** Lists pending actions (interface §4.9, GET /pending): an admin sees all, others those that they requested or decide. */
export const memoryPendingList = defineOperation({
  name: 'memory_pending_list',
  family: 'governance',
  summary: 'List actions that wait for approval, or were decided.',
  core: false,
  input: z.object({
    status: z.enum(PENDING_STATES).describe('Only actions in this state').optional(),
    namespace: fields.namespace.describe('Only actions in this namespace').optional(),
    limit: z.int().min(1).max(PENDING_LIST_MAX).default(PENDING_LIST_DEFAULT),
  }),
  output: z.object({
    pending: z.array(pending),
    count: z.int(),
    truncated: z
      .boolean()
      .optional()
      .describe('True when older actions are left out, because the answer would be too long'),
    owner_scope: z.string().nullable().describe('Null for a caller that sees all'),
  }),
  effect: 'read',
  guards: {},
  http: [{ method: 'GET', path: '/pending', fields: 'query' }],
  mcp: { description: 'List actions that wait' },
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
  run: async ({ caller, services, now }, { status = null, namespace = null, limit }) => {
    const viewer = { ...caller.viewer, all: caller.viewer.all || caller.admin };
    const listed = await services.store.query({
      ...{ kind: 'list-pendings', status, namespace, limit, viewer, now },
    });
    if (!listed.ok) return failed(listed.error);
    const rows = listed.value.pending.map(
      ({
        pending_id: id,
        command,
        rest: _rest,
        remember: _r,
        written_as: _w,
        reads: _reads,
        asked: _a,
        ...shown
      }) => ({
        id,
        ...shown,
        status: shown.status === 'pending' && shown.expires_at <= now ? ('expired' as const) : shown.status,
        approvals: [...shown.approvals],
        approver: { ...shown.approver },
        payload: payloadOf(command),
      }),
    );
    return ok({
      pending: rows,
      count: rows.length,
      ...(listed.value.truncated ? { truncated: true } : {}),
      owner_scope: viewer.all ? null : caller.agentId,
    });
  },
});

/** What an approver needs to see of the command: not who sees what, and no envelope. */
function payloadOf(command: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { kind: _kind, viewer: _viewer, envelope: _envelope, again: _again, ...payload } = command;
  return payload;
}
