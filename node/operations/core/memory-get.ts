import { z } from 'zod';
import { failed, ok } from '../../../protocol/base/result.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation, type TaggedContent } from '../../pipeline/operation.js';
import { flaggedMemories } from '../shared/shown-memories.js';

const linkFields = {
  links: z.array(
    z.object({
      source_id: z.string(),
      target_id: z.string(),
      relation: z.string(),
      created_at: z.string(),
    }),
  ),
  links_truncated: z.literal(true).describe('There are, or may be, more links').optional(),
};

/** Reads one memory by id or unique prefix (interface §4.2, GET /memories/{id}). */
export const memoryGet = defineOperation({
  name: 'memory_get',
  family: 'core',
  summary: 'Read one memory by its id or a unique prefix of it.',
  input: z.object({ id: fields.memoryId }),
  output: z.object({ memory: fields.memoryOutput, ...linkFields }),
  effect: 'read',
  guards: {},
  delegable: 'by-namespace',
  http: [{ method: 'GET', path: '/memories/{id}', fields: 'query', tag: tagOf }],
  mcp: {
    description: 'Open one memory by its id: the whole text, all its fields and links.',
    // On this surface the memory is flat, with its links inside (reference-mcp-cli §8).
    shape: ({ memory, ...links }) => ({ ...(memory as object), ...links }),
    output: fields.memoryOutput.extend(linkFields),
  },
  cli: { command: 'get', positionals: ['id'], view: 'memory', examples: ['get 3f2a'] },
  run: async (call, input) => {
    const result = await call.services.store.query({
      kind: 'get-memory',
      id: input.id,
      viewer: call.caller.viewer,
      now: call.now,
    });
    if (!result.ok) return failed(result.error);
    const { memory, links, truncated } = result.value;
    // Reading a memory by its id is using it.
    const { touches } = call.services;
    touches.touch([memory.id], call.now);
    touches.use({ agentId: call.caller.agentId, memoryId: memory.id, how: 'read', at: call.now });
    const [shown] = await flaggedMemories(call, [memory]);
    return ok({
      memory: shown!,
      links: [...links],
      ...(truncated ? { links_truncated: true as const } : {}),
    });
  },
});

/** That it was read, which each read changes, is nothing that a reader would miss. */
function tagOf({ memory, ...links }: Readonly<Record<string, unknown>>): TaggedContent {
  const { access_count: _uses, last_accessed_at: _used, expires_at: _end, ...rest } = memory as Shown;
  return { version: rest.version, content: [rest, links] };
}

type Shown = z.output<typeof fields.memoryOutput>;
