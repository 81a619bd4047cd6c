import { z } from 'zod';
import { failed, ok, type Result } from '../../../protocol/base/result.js';
import type { Call } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { aroundOperation } from '../../pipeline/operation-hooks.js';
import { erasedHere, erasedText, eraseField, erasureOutput } from '../shared/erased.js';
import { namedMemory } from '../shared/hooked.js';
import { resolveId } from '../shared/resolve-id.js';

/** Deletes a memory; the archive keeps a copy unless the archive is off (interface §3, §4.2). */
export const memoryDelete = defineOperation({
  name: 'memory_delete',
  family: 'lifecycle',
  summary: 'Delete a memory; the archive keeps a copy.',
  input: z.object({
    id: fields.memoryId,
    expected_version: fields.expectedVersion.optional(),
    erase: eraseField,
  }),
  output: z.object({
    ...{ deleted: z.boolean(), id: z.string(), archived: z.boolean() },
    ...erasureOutput.shape,
  }),
  effect: 'write',
  overwrites: true,
  guards: { attestation: 'by-name' },
  delegable: 'by-namespace',
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
      output['erased'] === true
        ? erasedText(String(output['id']), output)
        : `deleted: ${output['id']}${output['archived'] === true ? ' (a copy is in the archive)' : ''}`,
    examples: ['delete 3f2a', 'delete 3f2a --erase'],
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
    const id = await (input.erase ? resolveErased : resolveId)(call, input.id);
    if (!id.ok) return failed(id.error);
    const result = await call.services.store.execute({
      kind: 'delete-memory',
      id: id.value,
      archive: call.services.settings.archiveOnGc,
      viewer: call.caller.viewer,
      ...(input.expected_version === undefined ? {} : { expectedVersion: input.expected_version }),
      ...(input.erase ? { erasedBy: call.caller.agentId } : {}),
    });
    if (!result.ok) return failed(result.error);
    const { archived } = result.value;
    if (!input.erase) return ok({ deleted: true, id: result.value.id, archived });
    const erased = await erasedHere(call, [id.value]);
    return erased.ok ? ok({ deleted: true, id: id.value, archived, ...erased.value }) : failed(erased.error);
  },
});

/** An archived memory is erased too; of one that only the log knows, the caller must know the whole id. */
async function resolveErased(call: Call, prefix: string): Promise<Result<string>> {
  const live = await resolveId(call, prefix);
  if (live.ok || live.error.code !== 'NOT_FOUND') return live;
  const { viewer } = call.caller;
  const archived = await call.services.store.query({ kind: 'find-archived', id: prefix, viewer });
  if (archived.ok) return ok(archived.value.id);
  return archived.error.code === 'NOT_FOUND' ? ok(prefix) : failed(archived.error);
}
