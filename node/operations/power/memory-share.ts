import { z } from 'zod';
import { fail, failed, ok } from '../../../protocol/base/result.js';
import { addressProblem, sharedNamespace } from '../../../protocol/namespaces/mail.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { aroundOperation } from '../../pipeline/operation-hooks.js';
import { carriedTexts } from '../shared/carried-texts.js';
import { derivedId } from '../shared/derived-id.js';
import { copied, namedMemory } from '../shared/hooked.js';
import { mailAgent } from '../shared/mail-caller.js';

const input = z.object({
  source_memory_id: fields.memoryId.describe('Memory to copy, or a prefix of its id'),
  target_agent_id: fields.agentId.describe('Agent that gets the copy'),
});

type Input = z.output<typeof input>;

/** Copies a memory for another agent (interface §4.12, POST /share). */
export const memoryShare = defineOperation({
  name: 'memory_share',
  family: 'power',
  summary: 'Copy a memory for another agent.',
  input,
  output: z.object({
    shared_memory_id: z.string(),
    source_memory_id: z.string(),
    target_namespace: z.string(),
    target_agent_id: z.string(),
    from_agent_id: z.string(),
  }),
  effect: 'write',
  guards: { attestation: 'by-name' },
  carries: async (call, { source_memory_id: id, target_agent_id: to }) =>
    await carriedTexts(call, [id], sharedNamespace(call.caller.agentId, to)),
  repeatable: true,
  http: [{ method: 'POST', path: '/share', fields: 'body' }],
  mcp: { description: 'Give another agent a copy of a memory.' },
  cli: {
    command: 'share',
    aliases: { memory_id: 'source_memory_id', target_agent: 'target_agent_id' },
    shown: { source_memory_id: 'memory_id', target_agent_id: 'target_agent' },
    view: 'message',
    message: (output) =>
      `shared: ${output['shared_memory_id']} with ${output['target_agent_id']} (ns=${output['target_namespace']})`,
    examples: ['share --memory-id 3f2a --target-agent ai:reviewer'],
  },
  hooks: aroundOperation({
    look: (call, { source_memory_id: id }: Input) => namedMemory(call, id),
    pre: [
      {
        event: 'pre_store',
        // The copy is as the memory is, so nothing is rewritten.
        firings: ({ target_agent_id: to }, memory, call) => {
          const from = mailAgent(call);
          return from.ok ? copied(memory, sharedNamespace(from.value, to)) : [];
        },
      },
    ],
  }),
  run: async (call, { source_memory_id: prefix, target_agent_id: to }) => {
    const agent = mailAgent(call);
    if (!agent.ok) return failed(agent.error);
    const from = agent.value;
    if (to === from) {
      return fail('VALIDATION_FAILED', 'target_agent_id names the caller: share with another agent', {
        fields: ['target_agent_id'],
      });
    }
    const target = sharedNamespace(from, to);
    const problem = addressProblem(target, to);
    if (problem !== null) return fail('VALIDATION_FAILED', problem, { fields: ['target_agent_id'] });
    const { store } = call.services;
    const { viewer } = call.caller;
    const found = await store.query({ kind: 'get-memory', id: prefix, linksMax: 0, viewer, now: call.now });
    if (!found.ok) return failed(found.error);
    const { id, version } = found.value.memory;
    const copyId = derivedId(call, `share/${from}->${to}/${id}/${version}`);
    const shared = await store.execute({ kind: 'share-memory', id, copyId, from, to, viewer });
    if (!shared.ok) return failed(shared.error);
    return ok({
      shared_memory_id: shared.value.id,
      source_memory_id: id,
      target_namespace: target,
      target_agent_id: to,
      from_agent_id: from,
    });
  },
});
