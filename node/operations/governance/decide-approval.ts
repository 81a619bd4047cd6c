import { z } from 'zod';
import { failed, ok } from '../../../protocol/base/result.js';
import { defineOperation } from '../../pipeline/operation.js';
import { approvalOutput, pendingId, remember } from './memory-pending-approve.js';
import { approvalAnswer, rejectionAnswer, voteOn } from './vote.js';

/** Decides a pending action in a signed request (interface §4.9, POST /approvals/{pending_id}). */
export const decideApproval = defineOperation({
  name: 'decide_approval',
  family: 'governance',
  summary: 'Approve or deny an action that waits, in a request that is signed with the secret of the node.',
  input: z.object({
    pending_id: pendingId,
    decision: z.enum(['approve', 'deny']),
    remember,
  }),
  output: approvalOutput.partial({ approved: true }).extend({ rejected: z.boolean().optional(), remember }),
  effect: 'write',
  // The signature shows that the request comes from a holder of the secret.
  guards: {},
  delegable: 'never',
  http: [
    {
      method: 'POST',
      path: '/approvals/{pending_id}',
      fields: 'body',
      signed: { field: 'pending_id', required: true },
      status: { among: [200, 202], of: ({ approved }) => (approved === false ? 202 : 200) },
    },
  ],
  run: async (call, { pending_id: id, decision, remember: how }) => {
    const voted = await voteOn(call, { id, decision, remember: how });
    if (!voted.ok) return failed(voted.error);
    const answer = decision === 'approve' ? approvalAnswer(voted.value) : rejectionAnswer(voted.value);
    return ok({ ...answer, remember: how });
  },
});
