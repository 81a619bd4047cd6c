import { z } from 'zod';
import { AGENT_LIST_LIMIT_MAX } from '../../../protocol/base/limits.js';
import { failed, ok } from '../../../protocol/base/result.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { omittedDamaged } from '../shared/filter.js';
import { agentOutput } from './agent-fields.js';

/** Lists the registered agents (interface §4.9, GET /agents). */
export const memoryAgentList = defineOperation({
  name: 'memory_agent_list',
  family: 'meta',
  summary: 'List the registered agents, by id.',
  input: z.object({
    after: fields.agentId.describe('Only agents after this id: the last one of the previous page').optional(),
    limit: fields.listLimit(AGENT_LIST_LIMIT_MAX, AGENT_LIST_LIMIT_MAX, 'agents'),
  }),
  output: z.object({
    agents: z.array(agentOutput),
    count: z.int(),
    ...fields.listEnd,
    next_after: z.string().optional().describe('There are more agents, after this one'),
    ...fields.omittedDamaged,
  }),
  effect: 'read',
  guards: { admin: true },
  http: [{ method: 'GET', path: '/agents', fields: 'query' }],
  mcp: { description: 'List the registered agents.' },
  cli: {
    command: 'agents list',
    view: 'object',
    table: {
      agent_id: 'AGENT',
      agent_type: 'TYPE',
      last_seen_at: 'LAST SEEN',
      capabilities: 'CAPABILITIES',
      pubkey_b64: 'KEY',
    },
    examples: ['agents list'],
  },
  run: async (call, { after, limit }) => {
    // One row more than requested shows whether another page follows.
    const result = await call.services.store.query({
      kind: 'list-agents',
      after: after ?? null,
      limit: limit + 1,
    });
    if (!result.ok) return failed(result.error);
    const found = result.value.agents;
    const agents = found
      .slice(0, limit)
      .map((agent) => ({ ...agent, capabilities: [...agent.capabilities] }));
    const more = found.length > limit ? { next_after: agents.at(-1)!.agent_id } : {};
    return ok({ agents, count: agents.length, ...more, ...omittedDamaged(result.value) });
  },
});
