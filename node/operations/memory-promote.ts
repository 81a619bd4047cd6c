import { z } from 'zod';
import { failed, ok } from '../../protocol/result.js';
import { defineOperation } from '../pipeline/operation.js';
import * as fields from './fields.js';
import { resolveId } from './resolve-id.js';

/** Promotes a memory to a higher tier; long has no expiry (interface §3, §4.2). */
export const memoryPromote = defineOperation({
  name: 'memory_promote',
  family: 'lifecycle',
  summary: 'Promote a memory to the long tier, which does not expire.',
  core: false,
  input: z.object({
    id: fields.memoryId,
    target_tier: z.enum(['mid', 'long']).default('long').describe('Tier to reach'),
  }),
  output: z.object({ promoted: z.boolean(), mode: z.literal('tier'), id: z.string(), tier: z.string() }),
  effect: 'write',
  guards: {},
  events: ['memory_promote'],
  http: [{ method: 'POST', path: '/memories/{id}/promote', fields: 'body', omit: ['target_tier'] }],
  mcp: { description: 'Promote a memory' },
  cli: {
    command: 'promote',
    positionals: ['id'],
    omit: ['target_tier'],
    view: 'message',
    message: (output) => `promoted: ${output['id']} [${output['tier']}]`,
    examples: ['promote 3f2a'],
  },
  run: async (call, input) => {
    const id = await resolveId(call, input.id);
    if (!id.ok) return failed(id.error);
    const result = await call.services.store.execute({
      kind: 'promote-memory',
      id: id.value,
      targetTier: input.target_tier,
      viewer: call.caller.viewer,
    });
    if (!result.ok) return failed(result.error);
    const { memory } = result.value;
    return ok({ promoted: true, mode: 'tier' as const, id: memory.id, tier: memory.tier });
  },
});
