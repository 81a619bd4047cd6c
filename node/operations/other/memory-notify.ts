import { z } from 'zod';
import { PRIORITY_MAX, PRIORITY_MIN } from '../../../protocol/base/limits.js';
import { fail, failed, ok } from '../../../protocol/base/result.js';
import { instantAfter } from '../../../protocol/base/time.js';
import type { Memory } from '../../../protocol/memory/memory.js';
import { newMemory } from '../../../protocol/memory/new-memory.js';
import { addressProblem, inboxOf, MESSAGE_SOURCE, MESSAGE_TAG } from '../../../protocol/namespaces/mail.js';
import { ttlSecondsOf } from '../../config/life-policy.js';
import type { Call } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { aroundOperation } from '../../pipeline/operation-hooks.js';
import { given } from '../shared/hooked.js';
import { mailAgent } from '../shared/mail-caller.js';

const input = z.object({
  target_agent_id: fields.agentId.describe('Agent that gets the message'),
  title: fields.title.describe('Subject; messages may share one'),
  payload: fields.content.describe('Text of the message'),
  priority: z
    .int()
    .transform((value) => Math.min(PRIORITY_MAX, Math.max(PRIORITY_MIN, value)))
    .default(5)
    .describe('Priority, 1 to 10; other numbers count as the nearest'),
  tier: fields.tier.default('mid').describe('How long it is kept: short, mid or long'),
});

type Input = z.output<typeof input>;

/** Sends a message to the inbox of an agent (interface §4.12, POST /notify). */
export const memoryNotify = defineOperation({
  name: 'memory_notify',
  family: 'other',
  summary: 'Send a message to the inbox of another agent.',
  input,
  output: z.object({
    id: z.string(),
    from: z.string(),
    to: z.string(),
    namespace: z.string(),
    tier: z.string(),
    delivered_at: z.string().describe('When this node stored it'),
  }),
  effect: 'write',
  placed: async (_call, { target_agent_id: to }) => inboxOf(to),
  guards: { attestation: 'by-name' },
  repeatable: true,
  storesKeyed: true,
  http: [{ method: 'POST', path: '/notify', fields: 'body', aliases: { content: 'payload' }, status: 201 }],
  mcp: { description: 'Send a message to the inbox of another agent.', aliases: { content: 'payload' } },
  cli: {
    command: 'notify',
    stdin: ['payload'],
    view: 'message',
    message: ({ id, to }) => `sent: ${id} to ${to}`,
    examples: [
      'notify --target-agent-id ai:reviewer --title "Ready" --payload "Branch parser, please review"',
    ],
  },
  hooks: aroundOperation({
    pre: [
      {
        event: 'pre_store',
        firings: ({ target_agent_id: to, title, payload: content, priority, tier }: Input) => {
          const namespace = inboxOf(to);
          return [{ namespace, payload: { tier, namespace, title, content, tags: [MESSAGE_TAG], priority } }];
        },
        // To whom it goes, and its tag, are no choice.
        apply: (asked, { title, content, priority, tier }) => ({
          ...asked,
          ...given({ title, payload: content, priority, tier }),
        }),
      },
    ],
  }),
  run: async (call, asked) => {
    const from = mailAgent(call);
    if (!from.ok) return failed(from.error);
    const { target_agent_id: to, tier } = asked;
    const namespace = inboxOf(to);
    const problem = addressProblem(namespace, to);
    if (problem !== null) return fail('VALIDATION_FAILED', problem, { fields: ['target_agent_id'] });
    const sent = await call.services.store.execute({
      kind: 'send-message',
      memory: messageOf(call, from.value, asked),
      viewer: call.caller.viewer,
      ...(call.again ? { again: true } : {}),
    });
    if (!sent.ok) return failed(sent.error);
    return ok({ id: sent.value.id, from: from.value, to, namespace, tier, delivered_at: call.now });
  },
});

function messageOf(call: Call, from: string, asked: Input): Memory {
  const { target_agent_id: to, title, payload, priority, tier } = asked;
  const seconds = ttlSecondsOf(call.services.settings)[tier];
  return newMemory(call.now, {
    id: call.services.random.uuid(),
    namespace: inboxOf(to),
    title,
    content: payload,
    priority,
    tier,
    tags: [MESSAGE_TAG],
    source: MESSAGE_SOURCE,
    expires_at: seconds === null ? null : instantAfter(call.now, seconds),
    metadata: {
      agent_id: from,
      recipient_agent_id: to,
      message_kind: 'notify',
      scope: 'private',
      attest_level: 'claimed',
    },
  });
}
