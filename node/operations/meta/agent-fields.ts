import { z } from 'zod';
import * as limits from '../../../protocol/base/limits.js';
import { AGENT_TYPE } from '../../../protocol/identity/agent.js';

export const agentType = z
  .string()
  .regex(AGENT_TYPE, 'must be human, system or ai:<name>')
  .describe('human, system or ai:<name>');

export const capabilities = z
  .array(
    z
      .string()
      .regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, 'must be printable ASCII')
      .max(limits.AGENT_CAPABILITY_LENGTH_MAX),
  )
  .max(limits.AGENT_CAPABILITIES_MAX)
  .transform((values) => [...new Set(values)])
  .describe('What the agent can do, in words of its own');

/** An agent record in an answer (interface §2.4). */
export const agentOutput = z.object({
  agent_id: z.string(),
  agent_type: z.string(),
  capabilities: z.array(z.string()),
  registered_at: z.string(),
  last_seen_at: z.string(),
  pubkey_b64: z.string().optional(),
  pubkey_bound_at: z.string().optional(),
});
