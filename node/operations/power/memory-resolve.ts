import { z } from 'zod';
import { failed, ok } from '../../../protocol/base/result.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { aroundOperation } from '../../pipeline/operation-hooks.js';
import { namedMemory } from '../shared/hooked.js';
import { resolveId } from '../shared/resolve-id.js';

interface Asked {
  readonly loser: string;
  readonly keep: boolean;
}

/** Keeps one memory and archives the one that it supersedes (reference-mcp-cli §2.2). */
export const memoryResolve = defineOperation({
  name: 'memory_resolve',
  family: 'power',
  summary: 'Settle a contradiction: the winner stays, the loser goes to the archive or ends.',
  input: z.object({
    winner: fields.memoryId.describe('The memory that is right'),
    loser: fields.memoryId.describe('The memory that it supersedes'),
    keep: z
      .boolean()
      .default(false)
      .describe('Leave the loser where it is; its validity ends when that of the winner begins'),
  }),
  output: z.object({ resolved: z.boolean(), winner: z.string(), loser: z.string() }),
  effect: 'write',
  overwrites: true,
  guards: { attestation: 'by-name' },
  http: [{ method: 'POST', path: '/contradictions/resolve', fields: 'body' }],
  cli: {
    command: 'resolve',
    positionals: ['winner', 'loser'],
    view: 'message',
    message: (output) => `resolved: ${output['winner']} supersedes ${output['loser']}`,
    examples: ['resolve 3f2a 9b1c'],
  },
  hooks: aroundOperation({
    look: (call, { loser }: Asked) => namedMemory(call, loser),
    pre: [
      {
        event: 'pre_archive',
        firings: ({ keep }, memory) =>
          memory === null || keep ? [] : [{ namespace: memory.namespace, payload: { id: memory.id } }],
      },
    ],
  }),
  run: async (call, input) => {
    const winner = await resolveId(call, input.winner);
    if (!winner.ok) return failed(winner.error);
    const loser = await resolveId(call, input.loser);
    if (!loser.ok) return failed(loser.error);
    const result = await call.services.store.execute({
      kind: 'resolve-memories',
      winnerId: winner.value,
      loserId: loser.value,
      ...(input.keep ? { keep: true as const } : {}),
      viewer: call.caller.viewer,
    });
    return result.ok ? ok({ resolved: true, ...result.value }) : failed(result.error);
  },
});
