import { z } from 'zod';
import { failed, ok, type Result } from '../../../protocol/base/result.js';
import { ownerOf } from '../../../protocol/identity/owner.js';
import { peerOfOrigin } from '../../../protocol/log/wire-operation.js';
import type { MemoryRow } from '../../../protocol/memory/memory.js';
import type { ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { attestedLinks } from '../graph/attested-links.js';
import { claimsAttestation } from '../shared/judge.js';
import { judgedMemories } from '../shared/shown-memories.js';
import { memoryNotFound, sourceLinks } from './named-reflection.js';

/** Says where a reflection comes from (interface §4.12, reference-mcp-cli §6.1). */
export const memoryReflectionOrigin = defineOperation({
  name: 'memory_reflection_origin',
  family: 'power',
  summary: 'Say which node and agent a reflection comes from, and how deep it is there and here.',
  input: z.object({ memory_id: fields.memoryId }),
  output: z.object({
    memory_id: z.string(),
    peer_origin: z.string().nullable().describe('The other node that wrote it; null for this one'),
    signing_agent: z
      .string()
      .nullable()
      .describe('The agent for whom it, or each of its links, is signed, as this node believes it'),
    original_depth: z.int().describe('The depth that it was written with'),
    local_depth_at_arrival: z
      .int()
      .nullable()
      .describe('The depth that its sources give here; null where none of them is here'),
    is_reflection: z.boolean(),
  }),
  effect: 'read',
  guards: {},
  http: [{ method: 'POST', path: '/memory_reflection_origin', fields: 'body' }],
  mcp: { description: 'Show which node and agent a reflection comes from.' },
  cli: {
    command: 'reflection-origin',
    positionals: ['memory_id'],
    view: 'object',
    examples: ['reflection-origin 3f2a'],
  },
  run: async (call, { memory_id: id }) => {
    const { services, caller, now } = call;
    const found = await services.store.query({ kind: 'reflection-origin', id, viewer: caller.viewer, now });
    if (!found.ok) return failed(memoryNotFound(found.error, id));
    const { memory, maker, sourceDepth } = found.value;
    const signer = await signingAgent(call, memory);
    if (!signer.ok) return failed(signer.error);
    const peer = peerOfOrigin(maker ?? memory.origin);
    const isReflection = memory.kind === 'reflection';
    return ok({
      memory_id: memory.id,
      peer_origin: peer === services.peerId ? null : peer,
      signing_agent: signer.value,
      original_depth: memory.reflection_depth,
      local_depth_at_arrival: !isReflection || sourceDepth === null ? null : sourceDepth + 1,
      is_reflection: isReflection,
    });
  },
});

/** The agent that a believed signature names: that of the text, else the one observer of all links; null where there is none. */
async function signingAgent(call: ReadCall, memory: MemoryRow): Promise<Result<string | null>> {
  const [judged] = await judgedMemories(call, [memory]);
  if (claimsAttestation(judged!)) return ok(ownerOf(memory));
  const found = await sourceLinks(call, memory.id);
  if (!found.ok) return failed(found.error);
  const links = found.value.map(({ link }) => link);
  const attested = await attestedLinks(call, links);
  const observers = new Set(
    links.map(({ observed_by }, at) => (attested[at]!.level === 'unsigned' ? null : observed_by)),
  );
  const [only = null] = observers;
  return ok(observers.size === 1 ? only : null);
}
