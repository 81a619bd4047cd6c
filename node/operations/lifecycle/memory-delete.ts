import { z } from 'zod';
import { failed, ok } from '../../../protocol/base/result.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { aroundOperation } from '../../pipeline/operation-hooks.js';
import { namedMemory } from '../shared/hooked.js';
import { resolveId } from '../shared/resolve-id.js';

/** Deletes a memory; the archive keeps a copy unless the archive is off (interface §3, §4.2). */
export const memoryDelete = defineOperation({
  name: 'memory_delete',
  family: 'lifecycle',
  summary: 'Delete a memory; the archive keeps a copy.',
  input: z.object({ id: fields.memoryId, expected_version: fields.expectedVersion.optional() }),
  output: z.object({ deleted: z.boolean(), id: z.string(), archived: z.boolean() }),
  effect: 'write',
  overwrites: true,
  guards: { attestation: 'by-name' },
  http: [
    {
      ...{ method: 'DELETE', path: '/memories/{id}', fields: 'query' },
      headers: { 'if-match': 'expected_version' },
      omit: ['expected_version'],
    },
  ],
  mcp: {
    description:
      'Delete one wrong or useless memory by its id. The archive keeps a copy, which memory_archive_restore brings back.',
  },
  cli: {
    command: 'delete',
    positionals: ['id'],
    view: 'message',
    message: (output) =>
      `deleted: ${output['id']}${output['archived'] === true ? ' (a copy is in the archive)' : ''}`,
    examples: ['delete 3f2a'],
  },
  hooks: aroundOperation({
    look: (call, { id }: { readonly id: string }) => namedMemory(call, id),
    pre: [
      {
        event: 'pre_delete',
        firings: (_input, memory) =>
          memory === null ? [] : [{ namespace: memory.namespace, payload: { id: memory.id } }],
      },
    ],
  }),
  run: async (call, input) => {
    const id = await resolveId(call, input.id);
    if (!id.ok) return failed(id.error);
    const result = await call.services.store.execute({
      kind: 'delete-memory',
      id: id.value,
      archive: call.services.settings.archiveOnGc,
      viewer: call.caller.viewer,
      ...(input.expected_version === undefined ? {} : { expectedVersion: input.expected_version }),
    });
    if (!result.ok) return failed(result.error);
    return ok({ deleted: true, id: result.value.id, archived: result.value.archived });
  },
});
