import { z } from 'zod';
import * as limits from '../../../protocol/base/limits.js';
import { failed, ok, type Result } from '../../../protocol/base/result.js';
import type { Call } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { aroundOperation } from '../../pipeline/operation-hooks.js';
import { given, namedMemory } from '../shared/hooked.js';
import { ownerByMetadata } from '../shared/metadata-owner.js';
import { reflectionCommand } from './new-reflection.js';

const input = z.object({
  source_ids: z
    .array(fields.memoryId)
    .min(1)
    .max(limits.REFLECT_SOURCES_MAX)
    .describe('Memories that the reflection is about, 1 to 100'),
  title: fields.title,
  content: fields.content,
  namespace: fields.namespace.describe('That of the first source unless given').optional(),
  tier: fields.tier.default('mid'),
  tags: fields.tags.default([]),
  priority: fields.priority.default(5),
  confidence: fields.confidence.default(1),
  metadata: fields.metadata.default({}),
  entity_id: fields.entityId.optional(),
  depth: z.int().min(0).describe('The depth that the sources must give; refused with another one').optional(),
  agent_id: fields.agentId.optional(),
});

type Input = z.output<typeof input>;

const output = z.object({
  id: z.string(),
  reflection_depth: z.int().describe('That of the deepest source, plus one'),
  reflects_on: z.array(z.string()),
  namespace: z.string(),
});

/** Stores a memory that reflects on others (interface §4.12, §4.14, reference-mcp-cli §6.1). No model is asked. */
export const memoryReflect = defineOperation({
  name: 'memory_reflect',
  family: 'power',
  summary: 'Store what follows from other memories, linked to each of them.',
  input,
  output,
  effect: 'write',
  placed: async (call, { namespace, source_ids: [first] }) => {
    if (namespace !== undefined || first === undefined) return namespace ?? null;
    const found = await namedMemory(call, first);
    return found.ok ? (found.value?.namespace ?? null) : null;
  },
  guards: { attestation: 'by-name' },
  repeatable: true,
  storesKeyed: true,
  http: [
    {
      ...{ method: 'POST', path: '/memory_reflect', fields: 'body' },
      aliases: { memory_ids: 'source_ids' },
    },
  ],
  mcp: {
    description:
      'Write down a lesson or conclusion that follows from other memories; it is linked to each of them.',
    aliases: { memory_ids: 'source_ids' },
  },
  cli: {
    command: 'reflect',
    aliases: { memory_ids: 'source_ids' },
    short: { T: 'title', c: 'content', n: 'namespace', t: 'tier', p: 'priority' },
    stdin: ['content'],
    view: 'message',
    message: ({ id, reflection_depth: depth, reflects_on: on, namespace }) =>
      `reflected: ${id} (ns=${namespace}), depth ${depth}, on ${(on as readonly string[]).join(', ')}`,
    examples: ['reflect --source-ids 3f2a,9b1c --title "Deploys fail on Sundays" --content "Both outages …"'],
  },
  hooks: aroundOperation({
    look: (call, { source_ids: [first = ''] }: Input) => namedMemory(call, first),
    pre: [
      {
        event: 'pre_reflect',
        firings: (asked, first) => firingsOf(asked, first?.namespace),
        apply: (asked, delta) => ({ ...asked, ...delta }),
      },
      {
        event: 'pre_store',
        firings: (asked, first) => firingsOf(asked, first?.namespace),
        apply: (asked, { source: _source, expires_at: _expiry, ...delta }) => ({ ...asked, ...delta }),
      },
    ],
  }),
  run: reflect,
});

/** What hooks hear before it; nothing where no source says in which namespace it would lie. */
function firingsOf(asked: Input, ofSource: string | undefined) {
  const namespace = asked.namespace ?? ofSource;
  if (namespace === undefined) return [];
  const { tier, title, content, tags, priority, confidence, metadata, entity_id } = asked;
  const stated = { tier, namespace, title, content, tags, priority, confidence, metadata, entity_id };
  return [{ namespace, payload: given(stated) }];
}

async function reflect(call: Call, asked: Input): Promise<Result<z.input<typeof output>>> {
  const owner = ownerByMetadata(call, asked.metadata);
  if (!owner.ok) return failed(owner.error);
  const command = await reflectionCommand(call, { ...asked, source: 'nhi' });
  if (!command.ok) return failed(command.error);
  const result = await call.services.store.execute(command.value);
  if (!result.ok) return failed(result.error);
  const { stored, sources } = result.value;
  return ok({ ...stored, reflects_on: [...sources] });
}
