import { z } from 'zod';
import { failed, ok } from '../../../protocol/base/result.js';
import { AGENTS_NAMESPACE, agentTitle } from '../../../protocol/identity/agent.js';
import type { Memory } from '../../../protocol/memory/memory.js';
import { newMemory } from '../../../protocol/memory/new-memory.js';
import type { Call } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { derivedId } from '../shared/derived-id.js';
import { agentType, capabilities } from './agent-fields.js';

const input = z.object({
  agent_id: fields.agentId,
  agent_type: agentType,
  capabilities: capabilities.default([]),
});

/** Registers an agent or refreshes its record (interface §2.4, §4.9: POST /agents). */
export const memoryAgentRegister = defineOperation({
  name: 'memory_agent_register',
  family: 'meta',
  summary: 'Register an agent, or refresh its record.',
  input,
  output: z.object({
    registered: z.literal(true),
    id: z.string(),
    agent_id: z.string(),
    agent_type: z.string(),
    capabilities: z.array(z.string()),
  }),
  effect: 'write',
  idempotent: true,
  guards: { attestation: 'by-key' },
  delegable: 'never',
  http: [{ method: 'POST', path: '/agents', fields: 'body', agentId: 'subject', status: 201 }],
  mcp: { description: 'Register an agent with its type and abilities.' },
  cli: {
    command: 'agents register',
    view: 'message',
    message: (output) => `registered: ${output['agent_id']} (${output['agent_type']})`,
    examples: ['agents register --agent-id ai:builder --agent-type ai:coder --capabilities build,test'],
  },
  run: async (call, given) => {
    const result = await call.services.store.execute({
      kind: 'register-agent',
      memory: recordOf(call, given),
      spareId: call.services.random.uuid(),
      viewer: call.caller.viewer,
      admin: call.caller.admin,
    });
    if (!result.ok) return failed(result.error);
    const { agent, id } = result.value;
    return ok({
      registered: true as const,
      id,
      agent_id: agent.agent_id,
      agent_type: agent.agent_type,
      capabilities: [...agent.capabilities],
    });
  },
});

function recordOf(call: Call, given: z.output<typeof input>): Memory {
  const { agent_id, agent_type, capabilities: able } = given;
  return newMemory(call.now, {
    // Two nodes that register one agent at the same time make one record.
    id: derivedId(call, `agent/${agent_id}`),
    tier: 'long',
    namespace: AGENTS_NAMESPACE,
    title: agentTitle(agent_id),
    content: [agent_type, ...able].join(' '),
    tags: ['agent-registration'],
    source: 'system',
    metadata: {
      agent_id,
      agent_type,
      capabilities: able,
      registered_at: call.now,
      last_seen_at: call.now,
      scope: 'collective',
      attest_level: 'claimed',
    },
  });
}
