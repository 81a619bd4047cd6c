import { z } from 'zod';
import { OPERATION_ID_LENGTH_MAX } from '../../../protocol/base/limits.js';
import { failed, ok } from '../../../protocol/base/result.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { resolveId } from '../shared/resolve-id.js';
import { shownMemory } from '../shared/shown-memories.js';

/**
 * Undoes the last edit of a memory, from the operation log (reference-mcp-cli §2.2), or restores a named version. A second undo restores the edit.
 */
export const memoryUndoEdit = defineOperation({
  name: 'memory_undo_edit',
  family: 'lifecycle',
  summary: 'Undo the last edit of a memory, or restore one of its versions.',
  input: z.object({
    id: fields.memoryId,
    to: fields
      .versionName(OPERATION_ID_LENGTH_MAX)
      .optional()
      .describe(
        'Restore this version: its number, or the id of its operation from "history" or "mesh conflicts"',
      ),
    dry_run: z.boolean().default(false).describe('Only show what would change'),
  }),
  output: z.object({
    undone: z.boolean(),
    dry_run: z.boolean().optional(),
    changed: z.array(z.string()),
    memory: fields.memoryOutput,
  }),
  effect: 'write',
  overwrites: true,
  guards: { attestation: 'by-name' },
  delegable: 'by-namespace',
  http: [{ method: 'POST', path: '/memories/{id}/undo', fields: 'body' }],
  cli: {
    command: 'undo-edit',
    positionals: ['id'],
    view: 'message',
    message: (output) => {
      const memory = output['memory'] as { id: string; version: number };
      const changed = (output['changed'] as string[]).join(', ') || 'nothing';
      return output['dry_run'] === true
        ? `would restore: ${changed} of ${memory.id}`
        : `undone: ${memory.id} (version ${memory.version}; ${changed})`;
    },
    examples: ['undo-edit 3f2a', 'undo-edit 3f2a --dry-run', 'undo-edit 3f2a --to 2'],
  },
  run: async (call, input) => {
    const id = await resolveId(call, input.id);
    if (!id.ok) return failed(id.error);
    const result = await call.services.store.execute({
      kind: 'undo-edit',
      id: id.value,
      ...(input.to === undefined ? {} : { to: input.to }),
      dryRun: input.dry_run,
      viewer: call.caller.viewer,
      archive: call.services.settings.archiveOnGc,
    });
    if (!result.ok) return failed(result.error);
    const { memory, changed } = result.value;
    return ok({
      undone: !input.dry_run,
      ...(input.dry_run ? { dry_run: true } : {}),
      changed: [...changed],
      memory: await shownMemory(call, memory),
    });
  },
});
