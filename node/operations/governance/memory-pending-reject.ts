import { z } from 'zod';
import { failed, ok } from '../../../protocol/base/result.js';
import { defineOperation } from '../../pipeline/operation.js';
import { pendingId, remember } from './memory-pending-approve.js';
import { rejectionAnswer, voteOn } from './vote.js';

/** Rejects a pending action (interface §4.9); it never executes. */
export const memoryPendingReject = defineOperation({
  name: 'memory_pending_reject',
  family: 'governance',
  summary: 'Reject an action that waits; it will not execute.',
  input: z.object({ id: pendingId, remember }),
  output: z.looseObject({
    rejected: z.boolean().optional(),
    id: z.string(),
    decided_by: z.string().nullable().optional(),
    reason: z.string().optional(),
  }),
  effect: 'write',
  idempotent: true,
  guards: { attestation: 'by-name' },
  delegable: 'never',
  http: [
    {
      method: 'POST',
      path: '/pending/{id}/reject',
      fields: 'body',
      signed: { field: 'id', required: false, as: 'reject' },
      status: { among: [200, 202], of: ({ rejected }) => (rejected === true ? 200 : 202) },
    },
  ],
  mcp: { description: 'Reject a pending change; it will not run.' },
  cli: {
    command: 'pending reject',
    positionals: ['id'],
    view: 'message',
    message: ({ rejected, id, reason }) =>
      rejected === true ? `rejected: ${id}` : [`vote recorded: ${id}`, String(reason)],
    examples: ['pending reject 5b1f2c3d-0000-4000-8000-000000000000 --agent-id ai:lead'],
  },
  run: async (call, { id, remember: how }) => {
    const voted = await voteOn(call, { id, decision: 'deny', remember: how });
    return voted.ok ? ok(rejectionAnswer(voted.value)) : failed(voted.error);
  },
});
