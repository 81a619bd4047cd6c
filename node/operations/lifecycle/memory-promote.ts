import { z } from 'zod';
import { failed, ok } from '../../../protocol/base/result.js';
import type { MemoryRow, Tier } from '../../../protocol/memory/memory.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { aroundOperation } from '../../pipeline/operation-hooks.js';
import { carriedTexts } from '../shared/carried-texts.js';
import { copied, namedMemory } from '../shared/hooked.js';
import { resolveId } from '../shared/resolve-id.js';

/**
 * Promotes a memory to a higher tier; long has no expiry. With `to_namespace` it is cloned into a namespace above its own
 * instead, and the original stays (interface §3, §4.2; reference-http §2.2).
 */
export const memoryPromote = defineOperation({
  name: 'memory_promote',
  family: 'lifecycle',
  summary: 'Promote a memory to the long tier, which does not expire.',
  input: z.object({
    id: fields.memoryId,
    target_tier: z.enum(['mid', 'long']).default('long').describe('Tier to reach'),
    to_namespace: fields.namespace.describe('Clone into this namespace above its own').optional(),
  }),
  output: z.object({
    promoted: z.boolean(),
    mode: z.enum(['tier', 'vertical']),
    id: z.string().optional(),
    tier: z.string().optional(),
    source_id: z.string().optional(),
    clone_id: z.string().optional(),
    to_namespace: z.string().optional(),
  }),
  effect: 'write',
  idempotent: true,
  guards: { attestation: 'by-name' },
  carries: async (call, { id, to_namespace: to }) =>
    to === undefined ? [] : await carriedTexts(call, [id], to),
  delegable: 'by-namespace',
  http: [
    { method: 'POST', path: '/memories/{id}/promote', fields: 'body', omit: ['target_tier', 'to_namespace'] },
  ],
  mcp: {
    description: 'Keep a memory forever, by moving it to the long tier, or copy it to a namespace above.',
  },
  cli: {
    command: 'promote',
    positionals: ['id'],
    omit: ['target_tier'],
    view: 'message',
    message: (output) =>
      output['mode'] === 'vertical'
        ? `promoted: ${output['source_id']} as ${output['clone_id']} (ns=${output['to_namespace']})`
        : `promoted: ${output['id']} [${output['tier']}]`,
    examples: ['promote 3f2a', 'promote 3f2a --to-namespace team'],
  },
  hooks: aroundOperation({
    look: (call, { id }: Asked) => namedMemory(call, id),
    pre: [
      { event: 'pre_promote', firings: (asked, memory) => promotion(asked, memory) },
      // A clone is as the memory is, so nothing is rewritten.
      { event: 'pre_store', firings: ({ to_namespace: to }, memory) => copied(memory, to) },
    ],
  }),
  run: async (call, input) => {
    const id = await resolveId(call, input.id);
    if (!id.ok) return failed(id.error);
    const { store, random, settings } = call.services;
    const { to_namespace } = input;
    const result = await store.execute({
      kind: 'promote-memory',
      id: id.value,
      targetTier: input.target_tier,
      vertical: to_namespace === undefined ? null : { toNamespace: to_namespace, cloneId: random.uuid() },
      viewer: call.caller.viewer,
      archive: settings.archiveOnGc,
    });
    if (!result.ok) return failed(result.error);
    const { memory } = result.value;
    if (to_namespace !== undefined) {
      const mode = 'vertical' as const;
      return ok({ promoted: true, mode, source_id: id.value, clone_id: memory.id, to_namespace });
    }
    return ok({ promoted: true, mode: 'tier' as const, id: memory.id, tier: memory.tier });
  },
});

interface Asked {
  readonly id: string;
  readonly target_tier: Tier;
  readonly to_namespace?: string | undefined;
}

/** A clone keeps the tier of its original. */
const promotion = ({ target_tier, to_namespace }: Asked, memory: MemoryRow | null) => {
  if (memory === null) return [];
  const to_tier = to_namespace === undefined ? target_tier : memory.tier;
  return [{ namespace: memory.namespace, payload: { id: memory.id, from_tier: memory.tier, to_tier } }];
};
