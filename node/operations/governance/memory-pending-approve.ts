import { z } from 'zod';
import { failed, ok } from '../../../protocol/base/result.js';
import { REMEMBER } from '../../../protocol/policies/vote-kind.js';
import { defineOperation } from '../../pipeline/operation.js';
import { approvalAnswer, voteOn } from './vote.js';

export const pendingId = z
  .string()
  .min(1)
  .max(128)
  .describe('The id of the pending action, or a prefix of exactly one');
export const remember = z
  .enum(REMEMBER)
  .default('once')
  .describe('Whether later actions of the same kind, agent and namespace are decided alike without asking');

/** What an approval answers: the executed action, or how many votes it has. */
export const approvalOutput = z.looseObject({
  approved: z.boolean(),
  id: z.string(),
  executed: z.boolean().optional(),
  memory_id: z.string().nullable().optional(),
  decided_by: z.string().nullable().optional(),
  status: z.string().optional(),
  votes: z.int().optional(),
  quorum: z.int().optional(),
  reason: z.string().optional(),
});

/** Approves a pending action (interface §4.9); when the votes suffice it executes. */
export const memoryPendingApprove = defineOperation({
  name: 'memory_pending_approve',
  family: 'governance',
  summary: 'Approve an action that waits; it executes when it has enough approvals.',
  input: z.object({ id: pendingId, remember }),
  output: approvalOutput,
  effect: 'write',
  idempotent: true,
  guards: { attestation: 'by-name' },
  delegable: 'never',
  http: [
    {
      method: 'POST',
      path: '/pending/{id}/approve',
      fields: 'body',
      signed: { field: 'id', required: false, as: 'approve' },
      status: { among: [200, 202], of: ({ approved }) => (approved === true ? 200 : 202) },
    },
  ],
  mcp: { description: 'Approve a pending change; it runs once it has enough approvals.' },
  cli: {
    command: 'pending approve',
    positionals: ['id'],
    view: 'message',
    message: ({ approved, id, reason }) =>
      approved === true ? `approved and executed: ${id}` : [`vote recorded: ${id}`, String(reason)],
    examples: ['pending approve 5b1f2c3d-0000-4000-8000-000000000000 --agent-id ai:lead'],
  },
  run: async (call, { id, remember: how }) => {
    const voted = await voteOn(call, { id, decision: 'approve', remember: how });
    return voted.ok ? ok(approvalAnswer(voted.value)) : failed(voted.error);
  },
});
