import { z } from 'zod';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { isWithheld } from '../../../protocol/base/withheld.js';
import { INBOX_LIMIT_DEFAULT, INBOX_LIMIT_MAX } from '../../../protocol/messages/limits.js';
import { inboxOf } from '../../../protocol/namespaces/mail.js';
import type { ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { omittedDamaged } from '../shared/filter.js';
import { inboxAgent } from '../shared/mail-caller.js';

const message = z.object({
  id: z.string(),
  from: z.string().nullable().describe('Agent that sent it'),
  title: z.string(),
  payload: z.string(),
  priority: z.number(),
  tier: z.string(),
  created_at: z.string(),
  read: z.boolean().describe('True when its addressee marked it; a look at it does not'),
  read_at: z.string().nullable(),
  access_count: z.number(),
});

/** The messages to an agent, the newest first (interface §4.12, GET /inbox). */
export const memoryInbox = defineOperation({
  name: 'memory_inbox',
  family: 'power',
  summary: 'Show the messages that other agents sent to the caller.',
  input: z.object({
    agent_id: fields.agentId
      .describe('Agent whose inbox it is; only admins name another than the caller')
      .optional(),
    unread_only: z.boolean().default(false).describe('Only messages that are not marked as read'),
    limit: fields.listLimit(INBOX_LIMIT_DEFAULT, INBOX_LIMIT_MAX, 'messages'),
  }),
  output: z.object({
    agent_id: z.string(),
    namespace: z.string(),
    count: z.int(),
    unread_only: z.boolean(),
    messages: z.array(message),
    truncated: z
      .literal(true)
      .optional()
      .describe('Older messages are left out, because the answer would be too long'),
    ...fields.omittedDamaged,
  }),
  effect: 'read',
  guards: {},
  http: [{ method: 'GET', path: '/inbox', fields: 'query', agentId: 'claim' }],
  mcp: { description: 'Show the new messages that other agents sent you. Mark them with memory_inbox_read.' },
  cli: {
    command: 'inbox',
    flags: { agent_id: 'of' },
    view: 'object',
    table: { read: 'READ', id: 'ID', created_at: 'SENT', from: 'FROM', title: 'TITLE', payload: 'TEXT' },
    examples: ['inbox --unread-only', 'inbox --agent-id ai:reviewer --json'],
  },
  run: async (call, { agent_id, unread_only, limit }) => {
    const agent = ownerOfInbox(call, agent_id ?? null);
    if (!agent.ok) return failed(agent.error);
    const agentId = agent.value;
    const isKept = isWithheld(call.caller.viewer, inboxOf(agentId));
    const found = await call.services.store.query({
      ...{ kind: 'list-inbox', agentId, unreadOnly: unread_only, limit, now: call.now },
    });
    if (!found.ok) return failed(found.error);
    const { messages, truncated } = isKept ? { messages: [], truncated: false } : found.value;
    return ok({
      agent_id: agentId,
      namespace: inboxOf(agentId),
      count: messages.length,
      unread_only,
      messages: messages.map((row) => ({ ...row })),
      ...(truncated ? { truncated: true as const } : {}),
      ...omittedDamaged(found.value),
    });
  },
});

/** The agent whose inbox is asked for: the caller, or the one that the operator or an admin names on this machine. */
function ownerOfInbox(call: ReadCall, named: string | null): Result<string> {
  const { caller } = call;
  if (named !== null && named !== caller.agentId) {
    if (caller.viewer.all || caller.admin) return ok(named);
    return fail('FORBIDDEN', `the inbox of ${named} shows to ${named} and to the operator`);
  }
  return inboxAgent(call);
}
