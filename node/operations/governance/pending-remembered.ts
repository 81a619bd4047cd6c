import { z } from 'zod';
import { REMEMBERED_LIST_MAX } from '../../../protocol/base/limits.js';
import { failed, ok } from '../../../protocol/base/result.js';
import { rowsOf } from '../../../protocol/kinds/find.js';
import { rememberedKind } from '../../../protocol/policies/remembered-kind.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';

const remembered = z.object({
  namespace: z.string(),
  action_type: z.string(),
  gate: z
    .string()
    .describe('Where the action waited; empty for a decision of an older release, which no longer counts'),
  agent_id: z.string(),
  decision: z.enum(['approve', 'deny']),
  until: z.enum(['removed', 'restart']),
  decided_by: z.string(),
  decided_at: z.string(),
});

/** Lists decisions that are remembered (interface §4.9, `remember`). */
export const pendingRemembered = defineOperation({
  name: 'pending_remembered',
  family: 'governance',
  summary: 'List decisions that also hold for later actions.',
  input: z.object({}),
  output: z.object({ remembered: z.array(remembered), count: z.int() }),
  effect: 'read',
  guards: { admin: true },
  http: [{ method: 'GET', path: '/pending/remembered', fields: 'query' }],
  cli: {
    command: 'pending remembered',
    view: 'object',
    table: {
      namespace: 'namespace',
      action_type: 'action',
      gate: 'gate',
      agent_id: 'agent',
      decision: 'decision',
      until: 'until',
      decided_by: 'decided by',
    },
  },
  run: async ({ services }) => {
    const listed = await services.store.query({
      ...{
        kind: 'find-records',
        of: rememberedKind.name,
        order: { by: 'namespace' },
        limit: REMEMBERED_LIST_MAX,
      },
      ...{ skipDamaged: true, viewer: null, now: '' },
    });
    if (!listed.ok) return failed(listed.error);
    const rows = rowsOf(rememberedKind, listed.value).map(
      ({ session: _session, lasts, rest: _rest, approver: _approver, ...shown }) => ({
        ...shown,
        until: lasts === 'forever' ? ('removed' as const) : ('restart' as const),
      }),
    );
    return ok({ remembered: rows, count: rows.length });
  },
});

/** Removes a remembered decision. Only the command line has it. */
export const pendingRevoke = defineOperation({
  name: 'pending_revoke',
  family: 'governance',
  summary: 'Remove a remembered decision; later actions of that kind wait for approval again.',
  input: z.object({
    namespace: fields.namespace,
    action: z.string().min(1).max(64).describe('The action, as "pending remembered" shows it'),
    agent: z.string().min(1).max(128).describe('The agent whose actions the decision is about'),
  }),
  output: z.object({ removed: z.boolean() }),
  effect: 'write',
  guards: { admin: true, attestation: 'by-name' },
  delegable: 'never',
  cli: {
    command: 'pending revoke',
    view: 'message',
    message: ({ removed }) => (removed === true ? 'removed' : 'there is no such decision'),
    examples: ['pending revoke --namespace team --action store --agent ai:coder'],
  },
  run: async ({ services, caller }, { namespace, action, agent }) => {
    const removed = await services.store.execute({
      ...{ kind: 'forget-decision', namespace, actionType: action, agentId: agent, viewer: caller.viewer },
    });
    return removed.ok ? ok(removed.value) : failed(removed.error);
  },
});
