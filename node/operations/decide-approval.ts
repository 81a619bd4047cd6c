import { z } from 'zod';
import { failed, ok } from '../../protocol/result.js';
import { defineOperation } from '../pipeline/operation.js';
import { pendingId, remember } from './memory-pending-approve.js';
import { approvalAnswer, rejectionAnswer, voteOn } from './vote.js';

/** Decides a pending action in a signed request (interface §4.9, POST /approvals/{pending_id}). */
export const decideApproval = defineOperation({
  name: 'decide_approval',
  family: 'governance',
  summary: 'Approve or deny an action that waits, in a request that is signed with the secret of the node.',
  core: false,
  input: z.object({
    pending_id: pendingId,
    decision: z.enum(['approve', 'deny']),
    remember,
  }),
  output: z.looseObject({
    approved: z.boolean().optional(),
    rejected: z.boolean().optional(),
    id: z.string(),
    decided_by: z.string().nullable().optional(),
    executed: z.boolean().optional(),
    memory_id: z.string().nullable().optional(),
    remember,
    status: z.string().optional(),
    votes: z.int().optional(),
    quorum: z.int().optional(),
    reason: z.string().optional(),
  }),
  effect: 'write',
  guards: { attestation: 'by-name' },
  http: [
    {
      method: 'POST',
      path: '/approvals/{pending_id}',
      fields: 'body',
      signed: { field: 'pending_id', required: true },
      status: ({ approved }) => (approved === false ? 202 : 200),
    },
  ],
  run: async (call, { pending_id: id, decision, remember: how }) => {
    const voted = await voteOn(call, { id, decision, remember: how });
    if (!voted.ok) return failed(voted.error);
    const answer = decision === 'approve' ? approvalAnswer(voted.value) : rejectionAnswer(voted.value);
    return ok({ ...answer, remember: how });
  },
});
